import t from 'tap'
import { raw, startTransport } from '../../support/transport.js'

t.test('alert: a WebSocket handshake for alerts gets 501 with a body', async (t) => {
  const { port } = await startTransport(t)
  const answer = await raw(
    port,
    'GET /api/v1/alertapi/socket.io/ HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
      'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
    1000,
  )
  t.match(answer, /^HTTP\/1\.1 501 /)
  t.match(answer, /ALERT_UNAVAILABLE/)
})
