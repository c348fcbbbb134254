import { BlockList, isIP } from 'node:net'

/** Reads a request header by its lower-case name. */
type HeaderReader = (name: string) => string | undefined

/** Returns the address of a client, from the peer of the connection and the headers of the request. */
export type ClientAddress = (peer: string | undefined, header: HeaderReader) => string

/** Address of a request without a connection, as in tests. */
const NO_ADDRESS = 'local'

/**
 * Makes the reader of client addresses. Without trusted proxies it is the peer of the connection, whatever
 * the headers say. Behind a trusted proxy it is the rightmost address in `X-Forwarded-For` or `Forwarded`
 * that is not a trusted proxy itself: everything to the left of it may be an invention of the client. If the
 * two headers name different addresses, one of them comes from the client, and the proxy's address counts.
 *
 * @param trustedProxies addresses and CIDR blocks, as the settings have them
 * @see RFC 7239, "Forwarded HTTP Extension", section 8.1
 */
export function createClientAddress(trustedProxies: readonly string[]): ClientAddress {
  const isTrusted = createAddressSet(trustedProxies)
  return (peer, header) => {
    const nearest = plainAddress(peer ?? '') ?? NO_ADDRESS
    if (!isTrusted(nearest)) return nearest
    const [first = nearest, second = first] = [
      listedHops(header('x-forwarded-for')),
      forwardedHops(header('forwarded')),
    ].flatMap((hops) => (hops.length === 0 ? [] : [rightmostUntrusted(hops, nearest, isTrusted)]))
    return first === second ? first : nearest
  }
}

/**
 * Makes a check of addresses against a list of addresses and CIDR blocks.
 *
 * @throws Error for an entry that is neither; the settings are checked by `isAddressOrBlock` before
 */
export function createAddressSet(entries: readonly string[]): (address: string) => boolean {
  const list = new BlockList()
  for (const entry of entries) {
    const [address = '', prefix] = entry.split('/')
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
    if (prefix === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(prefix), family)
  }
  return (address) => {
    const version = isIP(address)
    return entries.length > 0 && version !== 0 && list.check(address, version === 6 ? 'ipv6' : 'ipv4')
  }
}

/**
 * Returns the network that an allowance is for: an IPv4 address itself, and the first 64 bits of an IPv6
 * address, since one subscriber has that many.
 */
export function networkOf(address: string): string {
  if (isIP(address) !== 6) return address
  const [head = '', tail] = address.split('::')
  const left = groupsOf(head)
  const right = groupsOf(tail ?? '')
  const zeros = tail === undefined ? 0 : 8 - left.length - right.length
  const groups = [...left, ...Array.from({ length: Math.max(0, zeros) }, () => '0'), ...right].slice(0, 4)
  return `${groups.map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/64`
}

/** Groups of a part of an IPv6 address; an IPv4 address at its end stands for two. */
function groupsOf(part: string): string[] {
  return part === '' ? [] : part.split(':').flatMap((group) => (group.includes('.') ? ['0', '0'] : [group]))
}

/**
 * Walks from the proxy towards the client. Stops at the first hop that is not trusted; a hop without an
 * address, such as `unknown`, leaves the last one that is known.
 */
function rightmostUntrusted(
  hops: readonly (string | undefined)[],
  nearest: string,
  isTrusted: (address: string) => boolean,
): string {
  let known = nearest
  for (const hop of hops.toReversed()) {
    if (hop === undefined) return known
    known = hop
    if (!isTrusted(hop)) return known
  }
  return known
}

/** Hops of `X-Forwarded-For`, the client first; undefined for what is no address. */
function listedHops(header: string | undefined): (string | undefined)[] {
  return header === undefined ? [] : header.split(',').map(plainAddress)
}

/** Hops of `Forwarded`: the value of `for` in each element. */
function forwardedHops(header: string | undefined): (string | undefined)[] {
  if (header === undefined) return []
  return header.split(',').map((element) => {
    const value = element
      .split(';')
      .map((pair) => /^\s*for\s*=\s*("?)(.*?)\1\s*$/i.exec(pair)?.[2])
      .find((found) => found !== undefined)
    return plainAddress(value ?? '')
  })
}

/**
 * Returns an address without brackets, port and zone, and an IPv4 address that was mapped to IPv6 as itself;
 * undefined for anything else.
 */
function plainAddress(text: string): string | undefined {
  const bare = text.trim()
  const host =
    /^\[([^\]]*)\](?::\d+)?$/.exec(bare)?.[1] ?? /^([\d.]+):\d+$/.exec(bare)?.[1] ?? bare.replace(/%.*$/, '')
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(host)?.[1]
  const address = mapped ?? host
  return isIP(address) === 0 ? undefined : address.toLowerCase()
}
