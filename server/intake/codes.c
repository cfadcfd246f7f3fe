/* server/intake/codes.c: every code of a finding, with what it means, how it is mended, and a sample that has it. */
#include <string.h>

#include "common/text.h"
#include "server/intake/intake.h"

/* Parts of samples. MEMBERS is all that an entry needs whatever its task. */
#define NAMES                                                                   \
    "\"author\": \"A. Example\", \"authorEmail\": \"submitter@example.org\",\n" \
    "\"framework\": \"Example 1.0\", \"model\": \"ResNet 9\", \"hardware\": \"1 CPU\",\n"
#define DATED        NAMES "\"timestamp\": \"2026-11-30\""
#define MEMBERS      "\"version\": \"v1.0\",\n" DATED
#define TRAIN(more)  "{\n" MEMBERS more "\n}\n"
#define DATE(date)   "{\n\"version\": \"v1.0\",\n" NAMES "\"timestamp\": \"" date "\"\n}\n"
#define INFER(more)  "{\n" MEMBERS ",\n\"latency\": 1.5,\n\"top1Accuracy\": 94.5" more "\n}\n"
#define SQUAD_F1(f1) "{\n" MEMBERS ",\n\"latency\": 1.5,\n\"f1Score\": " f1 "\n}\n"
#define MISC(more)   TRAIN(",\n\"misc\": {" more "}")
#define HEADER       "epoch\thours\ttop1Accuracy\n"
#define ROWS         HEADER "1\t0.1\t90\n2\t0.2\t94\n"

#define DIGITS_64  "1111111111111111111111111111111111111111111111111111111111111111"
#define DIGITS_256 DIGITS_64 DIGITS_64 DIGITS_64 DIGITS_64
#define DIGITS_512 DIGITS_256 DIGITS_256

#define FIELDS_7(a) \
    ",\"" a "1\":1,\"" a "2\":1,\"" a "3\":1,\"" a "4\":1,\"" a "5\":1,\"" a "6\":1,\"" a "7\":1"
#define FIELDS_42(a) \
    FIELDS_7(a "a") FIELDS_7(a "b") FIELDS_7(a "c") FIELDS_7(a "d") FIELDS_7(a "e") FIELDS_7(a "f")
#define FIELDS_210 FIELDS_42("a") FIELDS_42("b") FIELDS_42("c") FIELDS_42("d") FIELDS_42("e")

/* code, severity, meaning, hint, mode, task, entry, progress, further, pad_bytes, pad_byte, whole */
#define ENTRY_CODE(code, severity, meaning, hint, task, sample)                          \
    {                                                                                    \
        code, severity, meaning, hint, INTAKE_NEW, task, sample, NULL, NULL, 0, 0, false \
    }
#define PROGRESS_CODE(code, severity, meaning, hint, sample)                                  \
    {                                                                                         \
        code, severity, meaning, hint, INTAKE_NEW, "cifar10-train", NULL, sample, NULL, 0, 0, \
            false                                                                             \
    }
#define TRAIN_TASK "cifar10-train"
#define INFER_TASK "cifar10-inference"

const struct intake_code intake_codes[] = {
    /* Errors: either file. */
    {"file_too_large", INTAKE_ERROR, "the file is larger than 64 KiB",
     "send one row per epoch and keep logs elsewhere", INTAKE_NEW, TRAIN_TASK, TRAIN(""), NULL,
     NULL, 65536, ' ', false},
    {"missing_file", INTAKE_ERROR,
     "a training submission is two files, an inference submission one",
     "send NAME.json and, for a training, NAME.tsv together", INTAKE_NEW, TRAIN_TASK, TRAIN(""),
     NULL, NULL, 0, 0, true},
    ENTRY_CODE("empty_file", INTAKE_ERROR, "the file has nothing in it", "send the whole file",
               TRAIN_TASK, " \n"),
    {"nul_byte", INTAKE_ERROR, "the file has a NUL byte: it is not plain text",
     "save the file as plain text in UTF-8", INTAKE_NEW, TRAIN_TASK, NULL, ROWS, NULL, 1, 0, false},
    ENTRY_CODE("not_utf8", INTAKE_ERROR, "the file is not UTF-8", "save the file as UTF-8",
               TRAIN_TASK, "{\"author\": \"Andr\xE9\"}"),
    ENTRY_CODE("files_look_swapped", INTAKE_ERROR,
               "an entry stands where a progress file is asked for, or the reverse",
               "exchange the two files: entry is NAME.json, progress is NAME.tsv", TRAIN_TASK,
               ROWS),
    ENTRY_CODE("path_not_file", INTAKE_ERROR, "the path of a file was sent, not what is in it",
               "send what is in the file", TRAIN_TASK, "CIFAR10/train/resnet9.json"),
    /* Errors: the entry. */
    ENTRY_CODE("json_syntax", INTAKE_ERROR, "the entry is not JSON",
               "look at this line and the end of the one before: a comma between members, none "
               "before a closing brace, no comments",
               TRAIN_TASK, "{\"version\": \"v1.0\",}"),
    ENTRY_CODE("json_duplicate_key", INTAKE_ERROR, "a member is there twice", "keep one of them",
               TRAIN_TASK, "{\"version\": \"v1.0\",\n\"version\": \"v1.0\"}"),
    ENTRY_CODE("json_depth", INTAKE_ERROR, "objects and arrays are nested too deep",
               "flatten misc: 16 levels are read", TRAIN_TASK,
               "{\"misc\": [[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]}"),
    ENTRY_CODE("json_number", INTAKE_ERROR, "a number is not one that JSON knows",
               "write a finite number such as 0.9 or 2.5e-6", TRAIN_TASK,
               "{\"costPerHour\": 1e999}"),
    ENTRY_CODE("number_too_long", INTAKE_ERROR, "a number has more than 512 characters",
               "round it: 17 digits are enough", TRAIN_TASK, "{\"costPerHour\": 3." DIGITS_512 "}"),
    ENTRY_CODE("json_trailing", INTAKE_ERROR, "something follows the entry's closing brace",
               "send one entry in one file", TRAIN_TASK, "{} {}"),
    ENTRY_CODE("not_an_object", INTAKE_ERROR, "the entry is not a JSON object",
               "begin with { and end with }", TRAIN_TASK, "[]"),
    ENTRY_CODE("missing_field", INTAKE_ERROR,
               "a field that every entry of the task needs is not there", "add the field",
               INFER_TASK, "{\n" MEMBERS "\n}"),
    ENTRY_CODE("empty_field", INTAKE_ERROR, "a field that every entry needs is blank", "fill it in",
               TRAIN_TASK, "{\"author\": \" \"}"),
    ENTRY_CODE("bad_type", INTAKE_ERROR, "a field has a value of another type",
               "write text in quotes and numbers without", TRAIN_TASK,
               TRAIN(",\n\"costPerHour\": \"0.9\"")),
    ENTRY_CODE("bad_version", INTAKE_ERROR, "version is not that of the format",
               "write \"version\": \"v1.0\"", TRAIN_TASK,
               "{\n\"version\": \"v0.1\",\n" DATED "\n}"),
    ENTRY_CODE("bad_date", INTAKE_ERROR, "timestamp is not a date that exists",
               "write the date of submission as yyyy-mm-dd", TRAIN_TASK, DATE("2026-02-30")),
    ENTRY_CODE(
        "hidden_character", INTAKE_ERROR,
        "a text has a character that nobody sees, or that turns around what stands beside it",
        TEXT_HIDDEN_HINT, TRAIN_TASK, TRAIN(",\n\"commitHash\": \"0\\u202E1\"")),
    ENTRY_CODE("text_too_long", INTAKE_ERROR, "a text is longer than boards can show",
               "shorten it and move the rest to misc", TRAIN_TASK,
               TRAIN(",\n\"commitHash\": \"" /* 560 */
                     "00000000000000000000000000000000000000000000000000000000000000000000000000000"
                     "000000000000000000000000000000000000000000000000000000000000000"
                     "00000000000000000000000000000000000000000000000000000000000000000000000000000"
                     "000000000000000000000000000000000000000000000000000000000000000"
                     "00000000000000000000000000000000000000000000000000000000000000000000000000000"
                     "000000000000000000000000000000000000000000000000000000000000000"
                     "00000000000000000000000000000000000000000000000000000000000000000000000000000"
                     "000000000000000000000000000000000000000000000000000000000000000\"")),
    ENTRY_CODE("too_many_fields", INTAKE_ERROR, "the entry has more than 200 fields",
               "put them into misc", TRAIN_TASK, TRAIN(FIELDS_210)),
    /* Errors: values of either file. */
    ENTRY_CODE("out_of_range", INTAKE_ERROR, "a value is one that cannot be",
               "give the value in the unit that the format asks for", "squad-inference",
               SQUAD_F1("82.5")),
    PROGRESS_CODE("looks_like_fraction", INTAKE_ERROR,
                  "accuracies are fractions of 1 where percent are asked for",
                  "multiply the accuracies by 100", HEADER "1\t0.1\t0.9\n2\t0.2\t0.94\n"),
    PROGRESS_CODE("threshold_not_reached", INTAKE_ERROR, "no evaluation reaches the target",
                  "train until the target is reached; equal to it counts",
                  HEADER "1\t0.1\t90\n2\t0.2\t93.99\n"),
    /* Errors: the progress file. */
    PROGRESS_CODE("tsv_blank_line", INTAKE_ERROR, "a blank line stands between rows",
                  "remove the line", HEADER "1\t0.1\t90\n\n2\t0.2\t94\n"),
    PROGRESS_CODE("too_many_columns", INTAKE_ERROR, "a line has more than 16 cells",
                  "write only the columns that the task names",
                  "1\t2\t3\t4\t5\t6\t7\t8\t9\t10\t11\t12\t13\t14\t15\t16\t17\n"),
    PROGRESS_CODE("tsv_header", INTAKE_ERROR, "the first line does not name the task's columns",
                  "name each column once, with a tab between names",
                  "epoch\thours\ttop1\n1\t0.1\t94\n"),
    PROGRESS_CODE("no_rows", INTAKE_ERROR, "there is no row below the header",
                  "add a row per evaluation", HEADER),
    PROGRESS_CODE("tsv_fields", INTAKE_ERROR, "a row has more or fewer cells than the header",
                  "separate cells by one tab each, not by blanks", HEADER "1 0.1 90\n2\t0.2\t94\n"),
    PROGRESS_CODE("not_a_number", INTAKE_ERROR, "a cell is not a number",
                  "write a finite decimal number", HEADER "1\tNaN\t90\n2\t0.2\t94\n"),
    PROGRESS_CODE(
        "hours_decrease", INTAKE_ERROR, "hours are fewer than in the row before",
        "give the hours from the start of the training, in order, under the heading hours",
        HEADER "1\t0.2\t90\n2\t0.1\t94\n"),
    ENTRY_CODE(
        "run_not_ranked", INTAKE_ERROR,
        "misc says that the run was resumed, ended early, held images back or used a part of them",
        "train once from start to end on all images", TRAIN_TASK, MISC("\"resumed\": true")),
    /* Warnings: the file looks wrong. */
    {"file_not_used", INTAKE_WARNING, "an inference entry has no progress file",
     "send the entry alone", INTAKE_NEW, INFER_TASK, INFER(""), ROWS, NULL, 0, 0, true},
    ENTRY_CODE("misc_not_object", INTAKE_WARNING, "misc is not an object",
               "make misc an object of names and values", TRAIN_TASK,
               TRAIN(",\n\"misc\": \"CUDA 8.0\"")),
    ENTRY_CODE("cost_not_per_item", INTAKE_WARNING,
               "the cost of one item implies more than 500 USD an hour",
               "give the cost of one item: price an hour x latency in ms / 3,600,000", INFER_TASK,
               INFER(",\n\"cost\": 0.002")),
    ENTRY_CODE("timestamp_not_padded", INTAKE_WARNING,
               "the date is not written with two digits for month and day", "write yyyy-mm-dd",
               TRAIN_TASK, DATE("2026-11-1")),
    ENTRY_CODE("date_in_future", INTAKE_WARNING, "the date has not come yet",
               "give the date of submission", TRAIN_TASK, DATE("2999-01-01")),
    ENTRY_CODE("date_implausible", INTAKE_WARNING, "the date is before the year 2000",
               "give the date of submission", TRAIN_TASK, DATE("1970-01-01")),
    ENTRY_CODE("email_without_at", INTAKE_WARNING, "authorEmail is not an address",
               "give an address at which reviewers reach you; it is never shown", TRAIN_TASK,
               "{\"authorEmail\": \"example.org\"}"),
    ENTRY_CODE("value_implausible", INTAKE_WARNING, "a value is possible but far from all others",
               "check its unit", TRAIN_TASK, TRAIN(",\n\"costPerHour\": 1000000")),
    ENTRY_CODE("field_misspelt", INTAKE_WARNING,
               "a field that the format does not know is nearly one that it knows",
               "write the name as the format has it", TRAIN_TASK,
               TRAIN(",\n\"cost_per_hour\": 0.9")),
    {"f1_looks_like_percent", INTAKE_WARNING,
     "F1 is in percent in an old entry, where a fraction is asked for", "divide by 100",
     INTAKE_HISTORY, "squad-inference", SQUAD_F1("82.5"), NULL, NULL, 0, 0, false},
    {"run_missed", INTAKE_WARNING,
     "a run did not reach the target and counts as one that never will",
     "keep it if it was one of the runs that were planned: what is left out flatters the others",
     INTAKE_NEW, TRAIN_TASK, NULL, ROWS, HEADER "1\t0.1\t90\n2\t0.2\t93.9\n", 0, 0, false},
    {"equal_logs", INTAKE_WARNING, "two runs have the same times and values in every row",
     "send the file of another run; whoever reads the entry is told", INTAKE_NEW, TRAIN_TASK, NULL,
     ROWS, ROWS, 0, 0, false},
    ENTRY_CODE("equal_seeds", INTAKE_WARNING, "two runs have the same seed",
               "runs with one seed are no independent trials: give each another seed", TRAIN_TASK,
               MISC("\"seeds\": [1, 2, 1]")),
    ENTRY_CODE("seeds_unclear", INTAKE_WARNING, "misc.seeds does not give each run its seed",
               "write \"seeds\": [..] with one number or text per progress file, in their order",
               TRAIN_TASK, MISC("\"seeds\": 7")),
    PROGRESS_CODE("epoch_from_0", INTAKE_WARNING, "the labels of the epochs start at 0",
                  "label a row with the epochs trained so far", HEADER "0\t0.1\t90\n1\t0.2\t94\n"),
    PROGRESS_CODE("epoch_not_increasing", INTAKE_WARNING, "an epoch is there twice or out of order",
                  "label each row with the epochs trained so far",
                  HEADER "1\t0.1\t90\n1\t0.2\t94\n"),
    PROGRESS_CODE("epoch_hours_look_swapped", INTAKE_WARNING,
                  "the headings epoch and hours look exchanged", "exchange the two headings",
                  "hours\tepoch\ttop1Accuracy\n1\t0.1\t80\n2\t0.2\t90\n3\t0.3\t94\n4\t0.4\t95\n"),
    PROGRESS_CODE("accuracy_hours_look_swapped", INTAKE_ERROR,
                  "the headings of hours and accuracy look exchanged", "exchange the two headings",
                  HEADER "1\t60\t0.1\n2\t80\t0.2\n3\t79\t0.3\n4\t94\t0.4\n"),
    {"top1_top5_look_swapped", INTAKE_WARNING,
     "the headings of top-1 and top-5 accuracy look exchanged", "exchange the two headings",
     INTAKE_NEW, "imagenet-train", NULL,
     "epoch\thours\ttop1Accuracy\ttop5Accuracy\n1\t1\t80\t60\n2\t2\t90\t70\n3\t3\t92\t74\n"
     "4\t4\t94\t76\n",
     NULL, 0, 0, false},
    PROGRESS_CODE("hours_look_per_epoch", INTAKE_WARNING,
                  "hours look like those of each epoch alone",
                  "add the hours up: each row has the time from the start",
                  HEADER "1\t0.1\t80\n2\t0.1\t90\n3\t0.11\t94\n4\t0.11\t94\n"),
    PROGRESS_CODE("hours_look_like_seconds", INTAKE_WARNING, "more than ten hours for each epoch",
                  "give hours: seconds / 3600", HEADER "1\t60\t80\n2\t120\t94\n"),
    /* Advice: what reviewers ask for. */
    ENTRY_CODE("date_old", INTAKE_ADVICE, "the date is more than 30 days ago",
               "give the date of submission, not that of the run", TRAIN_TASK, DATE("2026-01-01")),
    ENTRY_CODE("field_not_used", INTAKE_ADVICE, "a field is not one of this kind of entry",
               "leave it out, or move it to misc", TRAIN_TASK, TRAIN(",\n\"latency\": 1.5")),
    ENTRY_CODE("misc_empty", INTAKE_ADVICE, "misc says nothing",
               "add learning rate schedule, batch size, optimizer, momentum, weight decay, "
               "versions, command line",
               TRAIN_TASK, TRAIN("")),
    ENTRY_CODE("hyperparameters_missing", INTAKE_ADVICE,
               "misc lacks what nearly every reviewer asks for", "add them to misc", TRAIN_TASK,
               MISC("\"optimizer\": \"SGD\"")),
    {"schedule_epochs_differ", INTAKE_ADVICE,
     "the learning rate schedule does not last as long as the training",
     "let the epochs of misc.schedule add up to those of the progress file", INTAKE_NEW, TRAIN_TASK,
     MISC("\"schedule\": [{\"learning_rate\": 0.1, \"epochs\": 30}]"), ROWS, NULL, 0, 0, false},
    ENTRY_CODE("code_missing", INTAKE_ADVICE, "there is no address of the code", "add codeURL",
               TRAIN_TASK, TRAIN("")),
    ENTRY_CODE("code_not_http", INTAKE_ADVICE, "codeURL cannot be made a link",
               "give one http or https address and nothing else", TRAIN_TASK,
               TRAIN(",\n\"codeURL\": \"ftp://example.org/code\"")),
    ENTRY_CODE("commit_missing", INTAKE_ADVICE, "the code may change: no commit is named",
               "add commitHash, or link to a commit", TRAIN_TASK,
               TRAIN(",\n\"codeURL\": \"https://example.org/code\"")),
    ENTRY_CODE("commit_not_hash", INTAKE_ADVICE, "commitHash is not a bare hash",
               "give the hexadecimal hash alone, not an address", TRAIN_TASK,
               TRAIN(",\n\"commitHash\": \"https://example.org/commit/1\"")),
    ENTRY_CODE("framework_version_missing", INTAKE_ADVICE, "the framework has no version",
               "write the version behind the name", TRAIN_TASK, "{\"framework\": \"PyTorch\"}"),
    ENTRY_CODE("hardware_count_missing", INTAKE_ADVICE, "the hardware has no number",
               "name the machine type and how many of them", TRAIN_TASK,
               "{\"hardware\": \"a workstation\"}"),
    ENTRY_CODE(
        "price_evidence_missing", INTAKE_ADVICE, "a price is given without its source",
        "add the address of the public on-demand price to misc, such as \"price\": \"https://..\"",
        TRAIN_TASK, TRAIN(",\n\"costPerHour\": 0.9")),
    ENTRY_CODE("versions_missing", INTAKE_ADVICE,
               "misc names no version of what the framework ran on",
               "add the versions of CUDA, cuDNN, the driver or the compiler to misc", TRAIN_TASK,
               MISC("\"optimizer\": \"SGD\"")),
    ENTRY_CODE("command_missing", INTAKE_ADVICE, "misc does not say how the run is repeated",
               "add the command line, or where the instructions stand, to misc", TRAIN_TASK,
               MISC("\"optimizer\": \"SGD\"")),
    ENTRY_CODE("seeds_missing", INTAKE_ADVICE, "the seeds of the runs are not stated",
               "add \"seeds\": [..] to misc with one number or text per progress file", TRAIN_TASK,
               MISC("\"optimizer\": \"SGD\"")),
    ENTRY_CODE("cost_absent", INTAKE_ADVICE, "without a price the entry is on no cost board",
               "add it if there is a public on-demand price; leave it out otherwise", TRAIN_TASK,
               TRAIN("")),
    ENTRY_CODE("blacklist_unstated", INTAKE_ADVICE,
               "ImageNet: which validation images were used is not said",
               "add \"usedBlacklist\": true if the blacklisted images were left out, else false",
               "imagenet-train", TRAIN("")),
};
const size_t intake_code_count = sizeof intake_codes / sizeof intake_codes[0];

const struct intake_code *intake_code_find(const char *code)
{
    for (size_t i = 0; i < intake_code_count; i++)
        if (strcmp(code, intake_codes[i].code) == 0)
            return &intake_codes[i];
    return NULL;
}
