import t from 'tap'
import { baseUrlOf } from '../../src/sync/endpoint.js'

t.test('endpoint: base URLs', async (t) => {
  t.equal(baseUrlOf('https://h/api/v2/fl/jsonrpc', []), 'https://h')
  t.equal(baseUrlOf('https://h:8443/prefix/api/v2/fl/jsonrpc/', []), 'https://h:8443/prefix')
  t.equal(baseUrlOf('https://h/', []), 'https://h')
  t.equal(baseUrlOf('http://h:80/', ['h']), 'http://h')
  t.equal(baseUrlOf('http://h:81/x', ['h:81']), 'http://h:81/x')
})

t.test('endpoint: BAD_ENDPOINT names what was found and what was expected', async (t) => {
  const cases: [string, RegExp][] = [
    ['nothing', /found nothing, expected a URL/],
    ['ftp://h/', /found ftp:, expected https:/],
    ['https://me:pw@h/', /found a user name in the URL/],
    ['https://h/?x=1', /found a query or fragment/],
    ['https://h/#x', /found a query or fragment/],
    ['http://h/', /found http: for h, expected https:/],
    [`x${'y'.repeat(200)}`, /found xy{99}…, expected/],
  ]
  for (const [endpoint, message] of cases)
    t.throws(() => baseUrlOf(endpoint, ['other']), { errorName: 'BAD_ENDPOINT', message }, endpoint)
})
