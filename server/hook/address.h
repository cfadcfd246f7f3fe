/* server/hook/address.h: which addresses a webhook may reach: those of the public internet alone. Everything that
 * IANA's special-purpose registries (RFC 6890 and its followers) keep for other uses is refused, and with it every
 * IPv6 form that carries an IPv4 address, so that no spelling leads to our own network or to a cloud's metadata.
 * Threads: pure, any. */
#ifndef DAYBREAK_SERVER_HOOK_ADDRESS_H
#define DAYBREAK_SERVER_HOOK_ADDRESS_H

#include <stddef.h>
#include <sys/socket.h>

#include "common/str.h"

/* What keeps an address from being reached, "loopback" or "private" say; NULL: it is public. Families other than
 * IPv4 and IPv6, and truncated addresses, are "not an internet address". */
const char *address_find_special(const struct sockaddr *address, size_t bytes);
/* The same for a host as it stands in a URL: 192.0.2.1 or [2001:db8::1], where it is an address; of a name,
 * "a name of this host" or "a name of a local network", or NULL: what it resolves to is seen when it is reached. */
const char *address_find_special_host(struct str host);

#endif
