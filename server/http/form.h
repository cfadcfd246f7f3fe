/* server/http/form.h: the body of a form, application/x-www-form-urlencoded (WHATWG URL, 5.1), read strictly.
 *
 * How a page of ours takes a form. The route says `.media = MEDIA_FORM, .html = true` and its scopes; then, before the
 * handler runs, the listener has checked the session and its scopes, that the form comes from this site
 * (form_check_source), and that its field `csrf` is the session's: request->form holds the fields, the caller is in
 * request->caller. The handler reads them with query_read_*(&request->form, ..), pushes its verb with api_push(), and
 * answers 303 to a page. The template of the form has
 *
 *     <form method="post" action="/submissions/7/review">
 *       <input type="hidden" name="csrf" value="{{attr page.csrf}}">
 *
 * where `page` is the layout, which layout_make() fills from the frame (page_make_frame()). A GET that needs a scope
 * leads whoever is not signed in to /login, and back. A form with files says `.media = MEDIA_MULTIPART` and
 * enctype="multipart/form-data": source and csrf are checked as well, and its fields are request->parts.
 *
 * Ownership: results live in the caller's arena, NUL-terminated. Threads: pure, any. */
#ifndef DAYBREAK_SERVER_HTTP_FORM_H
#define DAYBREAK_SERVER_HTTP_FORM_H

#include "common/crypto.h"
#include "server/http/query.h"

#define FORM_CSRF_BYTES 44 /* base64url of a SHA-256, and NUL */

/* As query_parse(), but that a value may hold tabs and line ends, which come out as line feeds. */
enum status form_parse(struct str body, struct arena *arena, struct query *form, struct error *err);

/* The hidden field of a session's forms: HMAC-SHA-256 keyed with the cookie's text. It lasts as long as the session, over
 * restarts, too, needs no store, and tells nothing of the cookie. */
void form_csrf(struct str session, char text[FORM_CSRF_BYTES]);
/* Takes the field. ST_DENIED "csrf-mismatch": none, or another session's. */
enum status form_check_csrf(struct query *form, struct str session, struct error *err);
/* The same of what the field held, "" for none. */
enum status form_match_csrf(struct str given, struct str session, struct error *err);

#endif
