/* server/http/media.h: which kind of body a Content-Type names. Threads: pure, any. */
#ifndef DAYBREAK_SERVER_HTTP_MEDIA_H
#define DAYBREAK_SERVER_HTTP_MEDIA_H

#include "common/str.h"
#include "server/http/request.h"

/* MEDIA_NONE: another one, or one whose parameters are malformed or others than charset=utf-8, once. Those of
 * multipart/form-data are multipart_find_boundary()'s. */
enum media media_parse(struct str content_type);

#endif
