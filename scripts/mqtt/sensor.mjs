import net from 'node:net'
import mqttPacket from 'mqtt-packet'

/** Publications that are not acknowledged; a broker ends a connection with more than 20 of QoS 2. */
const WINDOW = { 0: 500, 1: 500, 2: 15 }
const RETRY_MS = 50

/**
 * Starts a client that publishes messages in order, and once more what a broker has not acknowledged when a connection
 * ends, so that each message is with the broker at least once.
 *
 * @param messages { topic, payload, qos }, read as there is room
 * @param options `released`: messages that may be sent before `release` allows more; absent: all
 * @returns { acknowledged(), release(count), done }: `done` resolves when the broker has them all
 */
export function publishAll(
  port,
  messages,
  { clientId = 'sensor', released = Number.POSITIVE_INFINITY } = {},
) {
  const open = new Map() // packet id → message
  const again = []
  const source = messages[Symbol.iterator]()
  let isRead = false
  let acknowledged = 0
  let lastId = 0
  let left = released
  let wake = () => undefined
  const next = () => {
    if (again.length > 0) return again.shift()
    if (isRead || left <= 0) return undefined
    left--
    const { value, done } = source.next()
    isRead = done === true
    return value
  }
  let window = 1
  const take = () => (open.size < window ? next() : undefined)
  const nextId = () => {
    do lastId = (lastId % 65_535) + 1
    while (open.has(lastId))
    return lastId
  }
  return {
    acknowledged: () => acknowledged,
    release(count) {
      left += count
      wake()
    },
    done: new Promise((resolve, reject) => {
      const connect = () => {
        const socket = net.connect({ host: '127.0.0.1', port }).setNoDelay(true)
        const parser = mqttPacket.parser({ protocolVersion: 4 })
        const send = (packet) => socket.write(mqttPacket.generate(packet, { protocolVersion: 4 }))
        const fill = () => {
          socket.cork()
          for (let message = take(); message !== undefined; message = take()) {
            const messageId = message.qos === 0 ? undefined : nextId()
            window = WINDOW[message.qos]
            if (message.qos > 0) open.set(messageId, message)
            else acknowledged++
            send({ cmd: 'publish', dup: false, retain: false, ...message, messageId })
          }
          socket.uncork()
          if (!isRead || open.size > 0 || again.length > 0) return
          socket.off('close', onClose)
          socket.end(() => resolve())
        }
        const settle = (messageId) => {
          if (open.delete(messageId)) acknowledged++
          fill()
        }
        const onClose = () => {
          wake = () => undefined
          again.push(...open.values())
          open.clear()
          setTimeout(connect, RETRY_MS)
        }
        parser.on('error', reject)
        parser.on('packet', (packet) => {
          if (packet.cmd === 'connack') {
            wake = fill
            fill()
          }
          if (packet.cmd === 'puback' || packet.cmd === 'pubcomp') settle(packet.messageId)
          if (packet.cmd === 'pubrec') send({ cmd: 'pubrel', messageId: packet.messageId })
        })
        socket.on('error', () => undefined) // `close` follows
        socket.on('close', onClose)
        socket.on('data', (bytes) => parser.parse(bytes))
        socket.on('connect', () =>
          send({
            cmd: 'connect',
            protocolId: 'MQTT',
            protocolVersion: 4,
            clean: true,
            clientId,
            keepalive: 0,
          }),
        )
      }
      connect()
    }),
  }
}
