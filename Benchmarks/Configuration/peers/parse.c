// Reads each file named on standard input and has libyaml parse it to its end: what any program that uses libyaml spends
// at least. Prints the number of events and the nanoseconds, reading included.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <yaml.h>

int main(void) {
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    char path[4096];
    long events = 0;
    while (fgets(path, sizeof path, stdin)) {
        path[strcspn(path, "\n")] = 0;
        FILE *file = fopen(path, "rb");
        if (!file) { perror(path); return 1; }
        yaml_parser_t parser;
        if (!yaml_parser_initialize(&parser)) return 1;
        yaml_parser_set_input_file(&parser, file);
        for (int done = 0; !done;) {
            yaml_event_t event;
            if (!yaml_parser_parse(&parser, &event)) { fprintf(stderr, "%s: %s\n", path, parser.problem); return 1; }
            done = event.type == YAML_STREAM_END_EVENT;
            yaml_event_delete(&event);
            events++;
        }
        yaml_parser_delete(&parser);
        fclose(file);
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    printf("%ld %ld\n", events, (end.tv_sec - begin.tv_sec) * 1000000000L + end.tv_nsec - begin.tv_nsec);
    return 0;
}
