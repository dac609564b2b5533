/* The plainest program that times a burst of MPI_Allreduce, to hold the host backend against:
 * allreduce_loop OPS FLOATS SAMPLES prints the median over samples of the slowest rank's time, µs. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int by_value(const void *one, const void *other) {
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    if (argc != 4) {
        fprintf(stderr, "allreduce_loop OPS FLOATS SAMPLES\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    int ops = atoi(argv[1]), floats = atoi(argv[2]), samples = atoi(argv[3]), warmup = 5, rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    float *send = malloc(floats * sizeof(float)), *receive = malloc(floats * sizeof(float));
    double *times = malloc(samples * sizeof(double));
    for (int i = 0; i < floats; i++) {
        send[i] = (float)(i % 7);
    }
    for (int sample = -warmup; sample < samples; sample++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime(), took, slowest;
        for (int op = 0; op < ops; op++) {
            MPI_Allreduce(send, receive, floats, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        }
        took = MPI_Wtime() - start;
        MPI_Reduce(&took, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        if (rank == 0 && sample >= 0) {
            times[sample] = slowest * 1e6;
        }
    }
    if (rank == 0) {
        qsort(times, samples, sizeof(double), by_value);
        printf("%.3f\n", (times[samples / 2] + times[(samples - 1) / 2]) / 2);
    }
    MPI_Finalize();
    return 0;
}
