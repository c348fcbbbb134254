import { BlockList, isIP } from 'node:net'

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
 * Returns an address without brackets, port and zone, and an IPv4 address that was mapped to IPv6 as itself;
 * undefined for anything else.
 */
export function plainAddress(text: string): string | undefined {
  const bare = text.trim()
  const host =
    /^\[([^\]]*)\](?::\d+)?$/.exec(bare)?.[1] ?? /^([\d.]+):\d+$/.exec(bare)?.[1] ?? bare.replace(/%.*$/, '')
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(host)?.[1]
  const address = mapped ?? host
  return isIP(address) === 0 ? undefined : address.toLowerCase()
}
