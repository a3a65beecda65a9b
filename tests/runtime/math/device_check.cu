// Compiled by nvcc only: every body that host and device share must be accepted in a kernel.
#include "nodes/psv/reference.h"
#include "runtime/math/double_double.h"
#include "runtime/math/jones.h"
#include "runtime/math/profile.h"

namespace rimetree {

template <class T>
__global__ void use_all_bodies(const T* in, Complex<T>* out) {
  const auto path_exact =
      path_difference_exact(in[3], in[4], in[5], in[0], in[1], n_offset_exact(in[0], in[1], in[2], 1));
  const T path = path_exact.hi;
  const Complex<T> phasor = fringe_exact(path_exact, turns_per_metre(value_of(in[6])));
  const T taper = taper_of(Profile{1}, in[3], in[4], T(1), in[7], in[8], in[9]) * smearing(path);
  const Jones<T> jones{phasor, Complex<T>(in[0]), Complex<T>(in[1]), conj(phasor)};
  const Jones<T> product = jones * inverse(jones) * hermitian(jones);
  out[0] = taper * product.xx + sqrt(phasor) + exp(phasor) * log(phasor) + pow(phasor, phasor) / tan(phasor);
}

template <class T>
__global__ void use_psv_body(psv::Problem<T> problem, Jones<T>* out) {
  out[0] = psv::visibility(problem, 0, 0);
}

template __global__ void use_psv_body<double>(psv::Problem<double>, Jones<double>*);
template __global__ void use_psv_body<Dual<double>>(psv::Problem<Dual<double>>, Jones<Dual<double>>*);
template __global__ void use_all_bodies<double>(const double*, Complex<double>*);
template __global__ void use_all_bodies<float>(const float*, Complex<float>*);
template __global__ void use_all_bodies<Dual<double>>(const Dual<double>*, Complex<Dual<double>>*);

}  // namespace rimetree
