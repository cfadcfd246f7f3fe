/* server/tools/embed.c: writes files as C arrays (common/embed.h).
 * usage: embed NAME FILE|FILE=PATH ... : the table is `embedded_NAME` with `embedded_NAME_count`
 * ("tasks" has embedded_task_count's plural cut). Exits 1 with one sentence on a fault. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/crypto.h"

struct file {
    const char *path, *name;
    unsigned char *data;
    size_t bytes;
};

static _Noreturn void die(const char *what, const char *path);
static void read_file(struct file *file);
static void print_bytes(const struct file *file, int index);
static void print_row(const struct file *file, int index);

int main(int argc, char **argv)
{
    struct file *files = calloc((size_t)argc, sizeof *files);
    const int count = argc - 2;

    if (argc < 2 || files == NULL)
        die("usage: embed NAME FILE..", "");
    printf("/* Made by server/tools/embed.c: do not edit. */\n#include \"common/embed.h\"\n\n");
    for (int i = 0; i < count; i++) {
        char *equals = strchr(argv[i + 2], '=');

        files[i].path = argv[i + 2];
        files[i].name = equals == NULL ? argv[i + 2] : equals + 1;
        if (equals != NULL)
            *equals = '\0';
        read_file(&files[i]);
        print_bytes(&files[i], i);
    }
    printf("const struct embedded_file embedded_%s[] = {\n", argv[1]);
    for (int i = 0; i < count; i++)
        print_row(&files[i], i);
    printf("    {NULL, NULL, 0, NULL},\n};\n");
    printf("const size_t embedded_%.*s_count = %d;\n",
           (int)(strlen(argv[1]) - (strcmp(argv[1], "tasks") == 0)), argv[1], count);
    free(files);
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}

static _Noreturn void die(const char *what, const char *path)
{
    fprintf(stderr, "embed: %s%s\n", what, path);
    exit(1);
}

static void read_file(struct file *file)
{
    FILE *in = fopen(file->path, "rb");
    long size = 0;

    if (in == NULL || fseek(in, 0, SEEK_END) != 0 || (size = ftell(in)) < 0)
        die("cannot read ", file->path);
    rewind(in);
    file->bytes = (size_t)size;
    file->data = malloc(file->bytes + 1);
    if (file->data == NULL || fread(file->data, 1, file->bytes, in) != file->bytes)
        die("cannot read ", file->path);
    fclose(in);
}

static void print_bytes(const struct file *file, int index)
{
    printf("static const unsigned char data_%d[] = {", index);
    for (size_t i = 0; i < file->bytes; i++)
        printf("%s%u,", i % 24 == 0 ? "\n" : "", file->data[i]);
    printf("0};\n\n");
}

static void print_row(const struct file *file, int index)
{
    char digest[SHA256_HEX_BYTES];

    crypto_sha256_hex((struct str){(const char *)file->data, file->bytes}, digest);
    printf("    {\"%s\", data_%d, %zu, \"%s\"},\n", file->name, index, file->bytes, digest);
    free(file->data);
}
