/* Calls on files, by threads, for run_cost.py and mount_model.py, which compile it (as a library, too).
   reads calls FOLDER KIND COUNT THREADS FILES     [ns of a thread's processor, ns by the clock] a call
   reads random FILE MODE BYTES THREADS SECONDS    random reads, each of another place: [reads, seconds, median us] */
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
  int number, threads, files;
  double limit, result, *times;
  long done;
};

static double now_ns(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return t.tv_sec * 1e9 + t.tv_nsec;
}

static void* call(void* data) {
  struct Job* job = data;
  char buffer[16384], path[4096];
  snprintf(path, sizeof path, "%s/data%d", job->path, job->number % job->files);
  int fd = open(path, O_RDONLY);
  FILE* stream = fopen(path, "r");
  if (fd < 0 || stream == NULL) abort();
  const double begin = now_ns(CLOCK_THREAD_CPUTIME_ID);
  for (long i = 0; i < job->count; ++i) {
    if (!strcmp(job->kind, "pread")) {
      if (pread(fd, buffer, 64, i * 64 % 8192) != 64) abort();
    } else if (!strcmp(job->kind, "lseek")) {
      lseek(fd, 0, SEEK_SET);
    } else if (!strcmp(job->kind, "getc")) {
      if (getc(stream) == EOF) rewind(stream);
    } else { /* a whole file */
      const int own = open(path, O_RDONLY);
      const ssize_t size = pread(own, buffer, sizeof buffer, 0);
      if (size < 0 || pread(own, buffer, sizeof buffer, size) < 0) abort();
      close(own);
    }
  }
  job->result = (now_ns(CLOCK_THREAD_CPUTIME_ID) - begin) / job->count;
  fclose(stream);
  close(fd);
  return NULL;
}

static void* read_randomly(void* data) {
  struct Job* job = data;
  const int fd = open(job->path, O_RDONLY);
  const size_t bytes = job->count, places = lseek(fd, 0, SEEK_END) / bytes;
  void* buffer = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  memset(buffer, 0, bytes);
  const volatile char* mapped = NULL;
  if (strcmp(job->kind, "pread") != 0) {
    mapped = mmap(NULL, bytes * places, PROT_READ, MAP_SHARED, fd, 0);
    if (mapped == MAP_FAILED) abort();
    if (!strcmp(job->kind, "map_random")) madvise((void*)mapped, bytes * places, MADV_RANDOM);
  }
  const double begin = now_ns(CLOCK_MONOTONIC);
  /* An odd step through a power of two visits each place once. */
  uint64_t at = (uint64_t)begin + job->number * places / job->threads;
  while (job->done < (long)places && job->done < kTimes && now_ns(CLOCK_MONOTONIC) - begin < job->limit) {
    const size_t offset = at % places * bytes;
    const double one = now_ns(CLOCK_MONOTONIC);
    if (mapped != NULL) {
      (void)mapped[offset];
    } else if (pread(fd, buffer, bytes, offset) != (ssize_t)bytes) {
      abort();
    }
    job->times[job->done++] = now_ns(CLOCK_MONOTONIC) - one;
    at += 40503;
  }
  free(buffer);
  close(fd);
  return NULL;
}

static double in_threads(struct Job* jobs, const struct Job* like, void* (*work)(void*)) {
  pthread_t ids[kThreads];
  const double begin = now_ns(CLOCK_MONOTONIC);
  for (int i = 0; i < like->threads; ++i) {
    jobs[i] = *like;
    jobs[i].number = i;
    if (jobs[i].limit > 0) jobs[i].times = malloc(kTimes * sizeof(double));
    pthread_create(&ids[i], NULL, work, &jobs[i]);
  }
  for (int i = 0; i < like->threads; ++i) pthread_join(ids[i], NULL);
  return now_ns(CLOCK_MONOTONIC) - begin;
}

void calls(const char* folder, const char* kind, long count, int threads, int files, double* out) {
  struct Job jobs[kThreads], like = {.path = folder, .kind = kind, .count = count, .threads = threads, .files = files};
  out[1] = in_threads(jobs, &like, call) / count;
  out[0] = 0;
  for (int i = 0; i < threads; ++i) out[0] += jobs[i].result / threads;
}

static int ascending(const void* a, const void* b) {
  return (*(const double*)a > *(const double*)b) - (*(const double*)a < *(const double*)b);
}

int main(int argc, char** argv) {
  if (argc == 7 && !strcmp(argv[1], "calls")) {
    double out[2];
    calls(argv[2], argv[3], atol(argv[4]), atoi(argv[5]), atoi(argv[6]), out);
    printf("[%.2f, %.2f]\n", out[0], out[1]);
    return 0;
  }
  if (argc != 7) return 2;
  /* So that other work of the machine is not measured. */
  const struct sched_param priority = {.sched_priority = 1};
  sched_setscheduler(0, SCHED_RR, &priority);
  struct Job jobs[kThreads], like = {.path = argv[2], .kind = argv[3], .count = atol(argv[4]), .threads = atoi(argv[5]),
                                     .limit = 1e9 * atof(argv[6])};
  const double took = in_threads(jobs, &like, read_randomly);
  long reads = 0;
  for (int i = 0; i < like.threads; ++i) reads += jobs[i].done;
  double* all = malloc(reads * sizeof(double) + 1);
  for (long i = 0, at = 0; i < like.threads; at += jobs[i++].done) memcpy(all + at, jobs[i].times, jobs[i].done * sizeof(double));
  qsort(all, reads, sizeof(double), ascending);
  printf("[%ld, %.6f, %.2f]\n", reads, took / 1e9, reads ? all[reads / 2] / 1e3 : 0);
  return 0;
}
