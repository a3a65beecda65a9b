// The adjoint of the fast PSV sum: from the derivatives of a real objective with respect to visibilities to those with
// respect to fluxes, positions and shapes of all sources and to their Jones terms, in one pass over sources and rows.
// Its cost is about twice that of the sum, whatever the number of sources and however many quantities are asked for.
//
// With h_p the conjugate adjoint of plane p (kernel.h), w_sp a source's weight there and K_s its phasor times smearing
// and taper, V_p = sum_s w_sp K_s gives
//   dL/dw_sp = sum Re(h_p K_s),  and with z = sum_p w_sp h_p K_s:  dL/dpath = -2 pi sum (nu/c) Im z + ...
// where sums are over rows and channels, and the dots stand for the amplitudes' share, of Re z. The terms X = J_p B
// J_q^H of a source and row take conj(K) A, A being the visibility's adjoint: its sum over channels where they are the
// same at all of them (jones_adjoint-inl.h), else channel by channel (varying-inl.h). By the product rule
//   dL/dJ_p = dL/dX J_q B^H,  dL/dJ_q^H = (J_p B)^H dL/dX,  dL/dB = J_p^H dL/dX J_q.
#pragma once

#include "nodes/psv/summed.h"
#include "runtime/core/threads/thread_pool.h"

namespace rimetree::psv::adjoint {

/// Adjoints of the results, laid out as Output is.
struct ResultAdjoints {
  const Complex<double>* const* row = nullptr;  ///< [row]
  std::ptrdiff_t plane_stride = 0;
};

/// Which derivatives are asked for. Those that are not are zero.
struct SourceWish {
  bool weights = false, positions = false, shapes = false;
};

/// Derivatives with respect to what Sky holds, in its order of sources.
struct SourceAdjoints {
  std::vector<double> weights;          ///< [source][weight channel][plane]
  std::vector<double> positions;        ///< [source][l, m, n - n_minus], each as if independent of the others
  std::vector<ShapeAxes<double>> axes;  ///< [source - n_point]
  /// With respect to the real and imaginary parts of Jones terms; see JonesTargets.
  std::vector<Complex<double>> moving_jones, steady_jones;

  /// Where a term with a target gains.
  TermSlopes of_term(std::ptrdiff_t target) {
    const auto i = static_cast<std::size_t>(target), n_moving = moving_jones.size();
    return {i < n_moving ? &moving_jones[i] : &steady_jones[i - n_moving], nullptr};
  }
};

/// No derivatives yet.
SourceAdjoints zero_adjoints(const Sky<double>& sky, SourceWish wish, const JonesTargets& jones = {});
/// What they take in memory.
std::size_t bytes_of(const SourceAdjoints& sums);
/// Derivatives of the same sky with respect to the same quantities.
void add(SourceAdjoints& to, const SourceAdjoints& from);

/// With Jones terms, derivatives with respect to weights are those with respect to the eight real portions of the
/// brightness before the first term. Rows must come in the order of their times where Jones terms have targets, and
/// should where matrices vary. Bits do not depend on the number of threads. Throws Cancelled.
SourceAdjoints pull_back_rows(const Summed& of, const ResultAdjoints& adjoints, SourceWish wish, ThreadPool& threads,
                              Cancellation& cancellation);

/// Rows [row_begin, row_end) and blocks [block_begin, block_end) of sources of the above.
struct AdjointPortion {
  std::size_t row_begin = 0, row_end = 0, block_begin = 0, block_end = 0;
  Complex<double>* moving_jones = nullptr;  ///< the portion's own, or that of its times
};

/// What the instruction sets' versions share. `out` is the portion's own: results of its sources are added there.
struct ReverseSum : Summed {
  const ResultAdjoints& adjoints;
  SourceWish wish;
};
void pull_back_portion(const ReverseSum& job, const AdjointPortion& portion, Workspace<double>& workspace,
                       SourceAdjoints& out);

}  // namespace rimetree::psv::adjoint
