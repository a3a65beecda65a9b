// Compiled by nvcc only: every body that host and device share must be accepted in a kernel.
#include "runtime/math/conventions.h"
#include "runtime/math/jones.h"

namespace rimetree {

template <class T>
__global__ void use_all_bodies(const T* in, Complex<T>* out) {
  const T offset = n_offset(in[0], in[1], in[2], 1);
  const T path = path_difference_m(in[3], in[4], in[5], in[0], in[1], offset);
  const Complex<T> phasor = fringe(path, in[6]);
  const T taper = gaussian_taper(in[3], in[4], in[7], in[8], in[9]) * smearing(path);
  const Jones<T> jones{phasor, Complex<T>(in[0]), Complex<T>(in[1]), conj(phasor)};
  const Jones<T> product = jones * inverse(jones) * hermitian(jones);
  out[0] = taper * product.xx + sqrt(phasor) + exp(phasor) * log(phasor) + pow(phasor, phasor) / tan(phasor);
}

template __global__ void use_all_bodies<double>(const double*, Complex<double>*);
template __global__ void use_all_bodies<float>(const float*, Complex<float>*);
template __global__ void use_all_bodies<Dual<double>>(const Dual<double>*, Complex<Dual<double>>*);

}  // namespace rimetree
