#pragma once

// What LibTorch's headers name of cuBLAS, cuSPARSE and cuSOLVER, whose wheels (1 GB) would be
// needed for nothing else: handles that are passed on, and the types of status codes.

#include <cuda_runtime_api.h>

typedef struct cublasContext* cublasHandle_t;
typedef struct cublasLtContext* cublasLtHandle_t;
typedef struct cusolverDnContext* cusolverDnHandle_t;
typedef struct cusparseContext* cusparseHandle_t;
enum cublasStatus_t : int;
enum cusolverStatus_t : int;
enum cusparseStatus_t : int;
