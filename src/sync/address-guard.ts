import dns from 'node:dns'
import net from 'node:net'
import { buildConnector } from 'undici'

/** Addresses that upstreams may have, and options of a connection. */
interface GuardOptions {
  /** `sync.allowPrivate`: networks of one site (RFC 1918, RFC 6598, RFC 4193) */
  allowPrivate: boolean
  /** `sync.allowLoopback`: this machine */
  allowLoopback: boolean
  connectTimeoutMs: number
  /** PEM texts of all trusted authorities; undefined for the public ones */
  ca?: string[]
}

/** Error code of a refused connection. */
const REFUSED_ADDRESS = 'EADDRREFUSED'

/**
 * Addresses that are never allowed: this network, link-local, cloud metadata, documentation, multicast,
 * reserved.
 */
const NEVER: readonly (readonly [string, number, 'ipv4' | 'ipv6'])[] = [
  ['0.0.0.0', 8, 'ipv4'],
  ['169.254.0.0', 16, 'ipv4'],
  ['192.0.0.0', 24, 'ipv4'],
  ['192.0.2.0', 24, 'ipv4'],
  ['198.51.100.0', 24, 'ipv4'],
  ['203.0.113.0', 24, 'ipv4'],
  ['224.0.0.0', 4, 'ipv4'],
  ['240.0.0.0', 4, 'ipv4'],
  ['100.100.100.200', 32, 'ipv4'], // metadata service of Alibaba Cloud
  ['::', 128, 'ipv6'],
  ['fe80::', 10, 'ipv6'],
  ['ff00::', 8, 'ipv6'],
  ['2001:db8::', 32, 'ipv6'],
  ['64:ff9b::', 96, 'ipv6'], // NAT64, reaches any IPv4 address
  ['64:ff9b:1::', 48, 'ipv6'],
  ['2002::', 16, 'ipv6'], // 6to4, likewise
  ['2001::', 32, 'ipv6'], // Teredo, likewise
  ['fd00:ec2::254', 128, 'ipv6'], // metadata service of AWS
]

const LOOPBACK: typeof NEVER = [
  ['127.0.0.0', 8, 'ipv4'],
  ['::1', 128, 'ipv6'],
]

const PRIVATE: typeof NEVER = [
  ['10.0.0.0', 8, 'ipv4'],
  ['172.16.0.0', 12, 'ipv4'],
  ['192.168.0.0', 16, 'ipv4'],
  ['100.64.0.0', 10, 'ipv4'],
  ['198.18.0.0', 15, 'ipv4'],
  ['fc00::', 7, 'ipv6'],
  ['fec0::', 10, 'ipv6'],
]

/** IPv4-compatible addresses `::a.b.c.d`, which the block list does not compare as IPv4 addresses. */
const COMPATIBLE: typeof NEVER = [['::', 96, 'ipv6']]

/** Creates a check that reports whether an address is refused. Text that is not an address is refused. */
export function createAddressCheck(
  options: Pick<GuardOptions, 'allowPrivate' | 'allowLoopback'>,
): (address: string) => boolean {
  const refused = listOf(NEVER, options.allowPrivate ? [] : PRIVATE, options.allowLoopback ? [] : LOOPBACK)
  const compatible = listOf(COMPATIBLE)
  const loopback = listOf(LOOPBACK)
  return (address) => {
    const family = net.isIP(address)
    if (family === 0) return true
    const kind = family === 6 ? 'ipv6' : 'ipv4'
    if (refused.check(address, kind)) return true
    return family === 6 && compatible.check(address, kind) && !loopback.check(address, kind)
  }
}

/**
 * Creates the connector of a connection pool. It checks the addresses that a name resolves to, at the moment
 * of the connection, and addresses written in the URL, which are not resolved.
 */
export function createGuardedConnector(options: GuardOptions): buildConnector.connector {
  const isRefused = createAddressCheck(options)
  const connector = buildConnector({
    timeout: options.connectTimeoutMs,
    ...(options.ca === undefined ? {} : { ca: options.ca }),
    lookup(host, lookupOptions, callback) {
      dns.lookup(host, { ...lookupOptions, all: true }, (error, list) => {
        const [first] = list ?? []
        if (error !== null) callback(error, '', 0)
        // a mix of allowed and refused addresses is an attempt to rebind the name
        else if (first === undefined || list.some(({ address }) => isRefused(address)))
          callback(refusal(host), '', 0)
        else if (lookupOptions.all === true) callback(null, list)
        else callback(null, first.address, first.family)
      })
    },
  })
  return (target, callback) => {
    const host = target.hostname.replace(/^\[|\]$/g, '')
    if (net.isIP(host) !== 0 && isRefused(host)) queueMicrotask(() => callback(refusal(host), null))
    else connector(target, callback)
  }
}

function listOf(...groups: (typeof NEVER)[]): net.BlockList {
  const list = new net.BlockList()
  for (const [address, prefix, kind] of groups.flat()) list.addSubnet(address, prefix, kind)
  return list
}

function refusal(host: string): Error {
  const message = `the address of ${host} is not allowed for upstreams`
  return Object.assign(new Error(message), { code: REFUSED_ADDRESS })
}
