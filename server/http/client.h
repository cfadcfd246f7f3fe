/* server/http/client.h: who is at the other end: the address that a proxy names, cookies, and whether a form comes from a
 * page of ours. Every parser here reads what anybody may send: strict, and fuzzed.
 * Ownership: views borrow the header. Threads: pure, any. */
#ifndef DAYBREAK_SERVER_HTTP_CLIENT_H
#define DAYBREAK_SERVER_HTTP_CLIENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "common/status.h"
#include "common/str.h"

/* What limits count by: an IPv4 address, or the /64 of an IPv6 address, for whoever has one has all of it. An IPv4
 * address mapped into IPv6 is the IPv4 address. */
enum client_kind { CLIENT_UNKNOWN, CLIENT_IPV4, CLIENT_IPV6 };
struct client_address {
    enum client_kind kind;
    bool is_loopback;
    uint64_t net; /* unique within its kind */
    unsigned char bytes[16];
};

/* CLIENT_UNKNOWN for anything but IPv4 and IPv6: a unix socket has no address. */
void client_address_from_socket(const struct sockaddr *socket, struct client_address *address);
bool client_address_parse(struct str text, struct client_address *address); /* no port, no [] */
bool client_address_equal(const struct client_address *a, const struct client_address *b);

/* X-Forwarded-For as our own proxy sends it: the last address of the list is what the proxy saw; what stands before was
 * sent by the client and means nothing. False: there is none. */
bool client_forwarded_parse(struct str header, struct client_address *address);

/* Whose X-Forwarded-For and X-Forwarded-Proto are believed: nobody's, those of every connection (of a unix socket, which
 * only our proxy can open), or of one address. */
enum proxy_kind { PROXY_NONE, PROXY_UNIX, PROXY_ADDRESS };
struct proxy_trust {
    enum proxy_kind kind;
    struct client_address address;
};

/* The value of a cookie in a Cookie header (RFC 6265, 4.2.1: name=value pairs with "; " between). False: not there, or
 * there twice, as only somebody who planted one of them would send it. */
bool cookie_find(struct str header, const char *name, struct str *value);

/* The session's cookie: __Host- binds it to this host and to TLS, and so works with TLS alone. */
static inline const char *session_cookie(bool is_secure)
{
    return is_secure ? "__Host-daybreak" : "daybreak";
}

/* Whether a form was sent by one of our own pages. Browsers say so in Sec-Fetch-Site or Origin, both out of a script's
 * reach; a program that sends neither has no other site's cookies to misuse. is_secure: we are reached by TLS.
 * ST_DENIED "foreign-origin". */
struct form_source {
    struct str fetch_site, origin, host; /* headers; "": absent */
    bool is_secure;
};
enum status form_check_source(const struct form_source *source, struct error *err);

#endif
