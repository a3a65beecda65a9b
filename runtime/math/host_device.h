// One spelling for functions that compile as plain C++ and, under nvcc, for the device as well.
#pragma once

#ifdef __CUDACC__
#define RT_HD __host__ __device__
#define RT_UNROLL _Pragma("unroll")         // a loop over what must stay in registers
#define RT_KEEP_ROLLED _Pragma("unroll 1")  // one whose speed is of no matter
#else
#define RT_HD
#define RT_UNROLL
#define RT_KEEP_ROLLED
#endif
