/* An MPI library that flips a bit in what arrives: for scripts/mpi-corrupt, which shows that every such bit is seen.
 *
 * Tailback opens this as its MPI library (TAILBACK_MPI_LIB). What is not here is found in the real library, which this one needs; what is
 * here calls the real one by its profiling name. Open MPI only: its handles are pointers, so no header is needed.
 *
 *   CORRUPT_CALL   receive, put, get, allreduce or alltoall; stop, early-stop or wait: the rank is stopped
 *                  after MPI_Init or before it, or waits for ever after it; anything else corrupts nothing
 *   CORRUPT_RANK   the rank on which it happens (default 1), or `any`, each for itself
 *   CORRUPT_FROM   the first occurrence that is changed (default 0)
 *   CORRUPT_COUNT  how many from there on (default 1)
 *   CORRUPT_MIN, CORRUPT_MAX   bytes of a call that counts as an occurrence (default: any)
 *   CORRUPT_AT     the byte that is changed; -1 is the middle one (default 0)
 *   CORRUPT_LOG    a file to which every rank adds the number of its changes when MPI ends
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef void *handle;

int PMPI_Irecv(void *, int, handle, int, int, handle, handle *);
int PMPI_Recv(void *, int, handle, int, int, handle, void *);
int PMPI_Sendrecv(const void *, int, handle, int, int, void *, int, handle, int, int, handle, void *);
int PMPI_Waitall(int, handle *, void *);
int PMPI_Testall(int, handle *, int *, void *);
int PMPI_Put(const void *, int, handle, int, long, int, handle, handle);
int PMPI_Get(void *, int, handle, int, long, int, handle, handle);
int PMPI_Win_flush(int, handle);
int PMPI_Allreduce(const void *, void *, int, handle, handle, handle);
int PMPI_Alltoall(const void *, int, handle, void *, int, handle, handle);
int PMPI_Comm_size(handle, int *);
int PMPI_Type_size(handle, int *);
int PMPI_Finalize(void);
int PMPI_Init_thread(int *, char ***, int, int *);

/* What will be changed once it has arrived. */
static struct { handle request; char *bytes; long length; } waiting[4096];
static int count_waiting;
static struct { char *bytes; long length; } reading[4096];
static int count_reading;
static long seen, changed;

static long setting(const char *name, long otherwise) {
  const char *text = getenv(name);
  return text && *text ? atol(text) : otherwise;
}

static void flip(char *bytes, long length) {
  long at = setting("CORRUPT_AT", 0);
  if (at < 0) at = length / 2;
  if (at < length) {
    bytes[at] ^= 0x40;
    changed++;
  }
}

static int is_here(void) {
  const char *rank = getenv("OMPI_COMM_WORLD_RANK"), *wanted = getenv("CORRUPT_RANK");
  if (wanted && !strcmp(wanted, "any")) return 1;
  return rank && atol(rank) == setting("CORRUPT_RANK", 1);
}

/* Whether this call of `kind` with so many bytes is to be changed; counts it. */
static int chosen(const char *kind, long length) {
  const char *call = getenv("CORRUPT_CALL");
  if (!call || strcmp(call, kind) || !is_here()) return 0;
  if (length < setting("CORRUPT_MIN", 1) || length > setting("CORRUPT_MAX", 1L << 40)) return 0;
  long from = setting("CORRUPT_FROM", 0), at = seen++;
  return at >= from && at < from + setting("CORRUPT_COUNT", 1);
}

/* A rank that does not come when MPI starts, or has started and nobody watches over it yet. */
int MPI_Init_thread(int *count, char ***words, int wanted, int *given) {
  if (chosen("early-stop", 1)) raise(SIGSTOP);
  int code = PMPI_Init_thread(count, words, wanted, given);
  if (chosen("stop", 1)) raise(SIGSTOP);
  if (chosen("wait", 1)) pause();
  return code;
}

static long bytes_of(int count, handle type) {
  int size = 1;
  PMPI_Type_size(type, &size);
  return (long)count * size;
}

int MPI_Irecv(void *buffer, int count, handle type, int source, int tag, handle comm, handle *request) {
  int code = PMPI_Irecv(buffer, count, type, source, tag, comm, request);
  long length = bytes_of(count, type);
  if (chosen("receive", length) && count_waiting < 4096) {
    waiting[count_waiting].request = *request;
    waiting[count_waiting].bytes = buffer;
    waiting[count_waiting++].length = length;
  }
  return code;
}

int MPI_Recv(void *buffer, int count, handle type, int source, int tag, handle comm, void *status) {
  int code = PMPI_Recv(buffer, count, type, source, tag, comm, status);
  long length = bytes_of(count, type);
  if (chosen("receive", length)) flip(buffer, length);
  return code;
}

int MPI_Sendrecv(const void *send, int count, handle type, int to, int tag, void *buffer, int room, handle other, int source, int its,
                 handle comm, void *status) {
  int code = PMPI_Sendrecv(send, count, type, to, tag, buffer, room, other, source, its, comm, status);
  long length = bytes_of(room, other);
  if (chosen("receive", length)) flip(buffer, length);
  return code;
}

/* Which of the requests are to be changed; their handles are gone when they are complete. */
static int find(int count, handle *requests, int *found) {
  int n = 0;
  for (int i = 0; i < count_waiting; i++)
    for (int j = 0; j < count; j++)
      if (waiting[i].request == requests[j]) { found[n++] = i; break; }
  return n;
}

static void complete(int n, int *found) {
  for (int k = n - 1; k >= 0; k--) {
    flip(waiting[found[k]].bytes, waiting[found[k]].length);
    waiting[found[k]] = waiting[--count_waiting];
  }
}

int MPI_Waitall(int count, handle *requests, void *statuses) {
  int found[4096], n = count_waiting ? find(count, requests, found) : 0;
  int code = PMPI_Waitall(count, requests, statuses);
  complete(n, found);
  return code;
}

int MPI_Testall(int count, handle *requests, int *flag, void *statuses) {
  int found[4096], n = count_waiting ? find(count, requests, found) : 0;
  int code = PMPI_Testall(count, requests, flag, statuses);
  if (*flag) complete(n, found);
  return code;
}

int MPI_Put(const void *origin, int count, handle type, int target, long at, int there, handle other, handle window) {
  long length = bytes_of(count, type);
  if (chosen("put", length)) {
    /* The library reads it until the flush, so it is never given back. */
    char *copy = malloc(length);
    memcpy(copy, origin, length);
    flip(copy, length);
    origin = copy;
  }
  return PMPI_Put(origin, count, type, target, at, there, other, window);
}

int MPI_Get(void *origin, int count, handle type, int target, long at, int there, handle other, handle window) {
  long length = bytes_of(count, type);
  if (chosen("get", length) && count_reading < 4096) {
    reading[count_reading].bytes = origin;
    reading[count_reading++].length = length;
  }
  return PMPI_Get(origin, count, type, target, at, there, other, window);
}

int MPI_Win_flush(int target, handle window) {
  int code = PMPI_Win_flush(target, window);
  while (count_reading) {
    count_reading--;
    flip(reading[count_reading].bytes, reading[count_reading].length);
  }
  return code;
}

int MPI_Allreduce(const void *send, void *receive, int count, handle type, handle op, handle comm) {
  int code = PMPI_Allreduce(send, receive, count, type, op, comm);
  long length = bytes_of(count, type);
  if (chosen("allreduce", length)) flip(receive, length);
  return code;
}

int MPI_Alltoall(const void *send, int count, handle type, void *receive, int here, handle other, handle comm) {
  int ranks, code = PMPI_Alltoall(send, count, type, receive, here, other, comm);
  PMPI_Comm_size(comm, &ranks);
  long length = ranks * bytes_of(here, other);
  if (chosen("alltoall", length)) flip(receive, length);
  return code;
}

int MPI_Finalize(void) {
  const char *path = getenv("CORRUPT_LOG");
  if (path) {
    FILE *file = fopen(path, "a");
    if (file) {
      fprintf(file, "%ld\n", changed);
      fclose(file);
    }
  }
  return PMPI_Finalize();
}
