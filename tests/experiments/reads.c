/* Calls on files, by threads, for run_cost.py and mount_model.py, which compile it (as a library, too).
   reads FILE KIND COUNT THREADS FILES             [ns of a thread's processor, ns by the clock] a call
   reads FILE MODE BYTES THREADS FILES SECONDS     random reads of other places: [reads, seconds, median us] */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { kThreads = 64, kTimes = 1 << 22 };

struct Job {
  const char *path, *kind;
  long count; /* of calls, or of bytes of a read */
  int threads, files, number;
  double limit, result, *times;
  long done;
};

static double now_ns(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return t.tv_sec * 1e9 + t.tv_nsec;
}

static void calls_of(struct Job* job, const char* path, int fd) {
  char buffer[16384];
  FILE* stream = fopen(path, "r");
  const char kind = job->kind[0]; /* pread, lseek, getc, or a whole file */
  const double begin = now_ns(CLOCK_THREAD_CPUTIME_ID);
  for (long i = 0; i < job->count; ++i) {
    if (kind == 'p' && pread(fd, buffer, 64, i * 64 % 8192) != 64) abort();
    if (kind == 'l') lseek(fd, 0, SEEK_SET);
    if (kind == 'g' && getc(stream) == EOF) rewind(stream);
    if (kind == 'w') {
      const int own = open(path, O_RDONLY);
      const ssize_t size = pread(own, buffer, sizeof buffer, 0);
      if (size < 0 || pread(own, buffer, sizeof buffer, size) < 0) abort();
      close(own);
    }
  }
  job->result = (now_ns(CLOCK_THREAD_CPUTIME_ID) - begin) / job->count;
  fclose(stream);
}

static void read_randomly(struct Job* job, int fd) {
  const size_t bytes = job->count, places = lseek(fd, 0, SEEK_END) / bytes;
  void* buffer = memset(aligned_alloc(4096, (bytes + 4095) / 4096 * 4096), 0, bytes);
  const volatile char* mapped = job->kind[0] == 'm' ? mmap(NULL, bytes * places, PROT_READ, MAP_SHARED, fd, 0) : NULL;
  if (!strcmp(job->kind, "map_random")) madvise((void*)mapped, bytes * places, MADV_RANDOM);
  const double begin = now_ns(CLOCK_MONOTONIC);
  /* An odd step through a power of two visits each place once. */
  uint64_t at = (uint64_t)begin + job->number * places / job->threads;
  job->times = malloc(kTimes * sizeof(double));
  for (; job->done < (long)places && job->done < kTimes; at += 40503) {
    const double one = now_ns(CLOCK_MONOTONIC);
    if (one - begin >= job->limit) break;
    if (mapped != NULL) (void)mapped[at % places * bytes];
    if (mapped == NULL && pread(fd, buffer, bytes, at % places * bytes) != (ssize_t)bytes) abort();
    job->times[job->done++] = now_ns(CLOCK_MONOTONIC) - one;
  }
}

static void* work(void* data) {
  struct Job* job = data;
  char path[4096];
  snprintf(path, sizeof path, "%s%d", job->path, job->number % job->files);
  const int fd = open(path, O_RDONLY);
  if (fd < 0) abort();
  job->limit > 0 ? read_randomly(job, fd) : calls_of(job, path, fd);
  close(fd);
  return NULL;
}

static double in_threads(struct Job* jobs, struct Job like) {
  pthread_t ids[kThreads];
  const double begin = now_ns(CLOCK_MONOTONIC);
  for (int i = 0; i < like.threads; ++i) {
    jobs[i] = like;
    jobs[i].number = i;
    pthread_create(&ids[i], NULL, work, &jobs[i]);
  }
  for (int i = 0; i < like.threads; ++i) pthread_join(ids[i], NULL);
  return now_ns(CLOCK_MONOTONIC) - begin;
}

void calls(const char* path, const char* kind, long count, int threads, int files, double* out) {
  struct Job jobs[kThreads];
  out[1] = in_threads(jobs, (struct Job){path, kind, count, threads, files}) / count;
  out[0] = 0;
  for (int i = 0; i < threads; ++i) out[0] += jobs[i].result / threads;
}

static int ascending(const void* a, const void* b) {
  return (*(const double*)a > *(const double*)b) - (*(const double*)a < *(const double*)b);
}

int main(int argc, char** argv) {
  struct Job jobs[kThreads], like = {argv[1], argv[2], atol(argv[3]), atoi(argv[4]), atoi(argv[5])};
  double out[2];
  if (argc == 6) {
    calls(like.path, like.kind, like.count, like.threads, like.files, out);
    return printf("[%.2f, %.2f]\n", out[0], out[1]) < 0;
  }
  /* So that other work of the machine is not measured. */
  sched_setscheduler(0, SCHED_RR, &(struct sched_param){.sched_priority = 1});
  like.limit = 1e9 * atof(argv[6]);
  const double took = in_threads(jobs, like);
  double* all = malloc((size_t)kTimes * like.threads * sizeof(double));
  long reads = 0;
  for (int i = 0; i < like.threads; reads += jobs[i++].done) {
    memcpy(all + reads, jobs[i].times, jobs[i].done * sizeof(double));
  }
  qsort(all, reads, sizeof(double), ascending);
  return printf("[%ld, %.6f, %.2f]\n", reads, took / 1e9, reads ? all[reads / 2] / 1e3 : 0) < 0;
}
