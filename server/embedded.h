/* server/embedded.h: files of schema/, web/ and docs/ that the build put into the server (common/embed.h).
 * Immutable. Threads: any. */
#ifndef DAYBREAK_SERVER_EMBEDDED_H
#define DAYBREAK_SERVER_EMBEDDED_H

#include "common/embed.h"

/* "schema/migrations/NNNN_what.sql" in order of number, then "schema/openapi.json". */
extern const struct embedded_file embedded_schema[];
extern const size_t embedded_schema_count;

/* "schema/mlperf/ROUND.json" in order of path, then "schema/mlperf/rcp/NAME.json". */
extern const struct embedded_file embedded_mlperf[];
extern const size_t embedded_mlperf_count;

/* "web/assets/NAME", and Chart.js as "web/assets/chart.js". */
extern const struct embedded_file embedded_web[];
extern const size_t embedded_web_count;

/* "docs.html", "docs/NAME.html", "docs/api/PART.html": the pages of documentation (page/doc_page.h). */
extern const struct embedded_file embedded_docs[];
extern const size_t embedded_docs_count;

#endif
