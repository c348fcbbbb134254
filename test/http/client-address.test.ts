import t from 'tap'
import { createClientAddress } from '../../src/http/client-address.js'

const PROXY = '10.0.0.1'

/** Address of a client behind the trusted proxies 10.0.0.0/8 and fd00::1. */
function behind(headers: Record<string, string>, peer: string | undefined = PROXY): string {
  return createClientAddress(['10.0.0.0/8', 'fd00::1'])(peer, (name) => headers[name])
}

t.test('client address: headers of a peer that is not trusted are ignored', async (t) => {
  const address = createClientAddress([])
  t.equal(
    address('192.0.2.7', () => '203.0.113.9'),
    '192.0.2.7',
  )
  t.equal(behind({ 'x-forwarded-for': '203.0.113.9' }, '192.0.2.7'), '192.0.2.7')
  t.equal(
    address('::ffff:192.0.2.7', () => undefined),
    '192.0.2.7',
    'mapped to IPv6 by a dual-stack socket',
  )
  t.equal(
    address(undefined, () => undefined),
    'local',
  )
})

t.test('client address: the rightmost hop that is not trusted', async (t) => {
  const table: [Record<string, string>, string][] = [
    [{}, PROXY],
    [{ 'x-forwarded-for': '203.0.113.9' }, '203.0.113.9'],
    [{ 'x-forwarded-for': '1.1.1.1, 203.0.113.9' }, '203.0.113.9'], // the left one was sent by the client
    [{ 'x-forwarded-for': '1.1.1.1, 203.0.113.9, 10.2.3.4' }, '203.0.113.9'],
    [{ 'x-forwarded-for': '10.9.9.9, 10.2.3.4' }, '10.9.9.9'], // a client inside
    [{ 'x-forwarded-for': '203.0.113.9:4711' }, '203.0.113.9'],
    [{ 'x-forwarded-for': '[2001:DB8::7]:4711' }, '2001:db8::7'],
    [{ 'x-forwarded-for': 'fe80::1%eth0' }, 'fe80::1'],
    [{ 'x-forwarded-for': '1.1.1.1, garbage' }, PROXY],
    [{ 'x-forwarded-for': '1.1.1.1, unknown, 10.2.3.4' }, '10.2.3.4'],
    [{ 'x-forwarded-for': '' }, PROXY],
    [{ forwarded: 'for=203.0.113.9' }, '203.0.113.9'],
    [{ forwarded: 'for=1.1.1.1, For="[2001:db8::7]:4711";proto=https' }, '2001:db8::7'],
    [{ forwarded: 'proto=https;for=203.0.113.9;by=10.0.0.1' }, '203.0.113.9'],
    [{ forwarded: 'for=_hidden' }, PROXY],
    [{ forwarded: 'for=203.0.113.9', 'x-forwarded-for': '203.0.113.9' }, '203.0.113.9'],
  ]
  for (const [headers, expected] of table) t.equal(behind(headers), expected, JSON.stringify(headers))
  t.equal(behind({ 'x-forwarded-for': '203.0.113.9' }, 'fd00::1'), '203.0.113.9')
})

t.test('client address: that of the proxy when the two headers disagree', async (t) => {
  const headers = { forwarded: 'for=198.51.100.1', 'x-forwarded-for': '203.0.113.9' }
  t.equal(behind(headers), PROXY, 'the client sent one of them')
})
