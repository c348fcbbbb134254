import t from 'tap'
import { createAddressSet, networkOf } from '../../../src/http/server/addresses.js'

t.test('network: an IPv4 address, and the first half of an IPv6 address', async (t) => {
  const table: [string, string][] = [
    ['192.0.2.7', '192.0.2.7'],
    ['local', 'local'],
    ['2001:db8:0:12:1:2:3:4', '2001:db8:0:12::/64'],
    ['2001:0db8::12', '2001:db8:0:0::/64'],
    ['2001:db8:1:2::', '2001:db8:1:2::/64'],
    ['::1', '0:0:0:0::/64'],
    ['64:ff9b::192.0.2.7', '64:ff9b:0:0::/64'],
    ['1:2:3:4:5:6:192.0.2.7', '1:2:3:4::/64'],
  ]
  for (const [address, network] of table) t.equal(networkOf(address), network, address)
})

t.test('address set: addresses and blocks, of both versions, and nothing when it is empty', async (t) => {
  const has = createAddressSet(['192.0.2.7', '10.0.0.0/8', '2001:db8::/32'])
  for (const address of ['192.0.2.7', '10.255.0.1', '2001:db8:1::2']) t.ok(has(address), address)
  for (const address of ['192.0.2.8', '11.0.0.1', '2001:db9::1', 'local', '']) t.notOk(has(address), address)
  t.notOk(createAddressSet([])('192.0.2.7'))
})
