import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import mqttPacket from 'mqtt-packet'

/** A connection of a client, as the broker sees it. */
export interface BrokerSide {
  /** packets of the client so far */
  readonly packets: mqttPacket.Packet[]
  send(packet: mqttPacket.Packet): void
  sendBytes(bytes: Uint8Array): void
  drop(): void
}

/** A broker that does what a test scripts, over the codec of the package `mqtt-packet`. */
export interface FakeBroker {
  readonly port: number
  /** connections so far */
  readonly sides: BrokerSide[]
  /** kinds of all packets of all clients, in their order, acknowledgements with their packet id */
  readonly log: string[]
  last(): BrokerSide
  close(): Promise<void>
}

interface Script {
  readonly version?: 4 | 5
  /** answer to CONNECT; accepted, without a session, unless given */
  connack?(): Partial<mqttPacket.IConnackPacket>
  /** granted QoS, or a refusal, of a filter; as asked unless given */
  grant?(filter: string, qos: number): number
  /** true: pings are not answered */
  readonly isMute?: boolean
  /** called for each packet after the usual answer to it */
  onPacket?(packet: mqttPacket.Packet, side: BrokerSide): void
}

type TestLike = { teardown(work: () => unknown): unknown }

/** Starts a broker on a free port of 127.0.0.1; it ends with the test. */
export async function startFakeBroker(t: TestLike, script: Script = {}): Promise<FakeBroker> {
  const options = { protocolVersion: script.version ?? 5 }
  const sides: BrokerSide[] = []
  const log: string[] = []
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => socket.destroy())
    const side: BrokerSide = {
      packets: [],
      send: (packet) => void socket.write(mqttPacket.generate(packet, options)),
      sendBytes: (bytes) => void socket.write(bytes),
      drop: () => socket.destroy(),
    }
    sides.push(side)
    const parser = mqttPacket.parser(options)
    parser.on('error', (error) => socket.destroy(error))
    parser.on('packet', (packet) => {
      side.packets.push(packet)
      log.push(/^pub/.test(packet.cmd) ? `${packet.cmd} ${packet.messageId}` : packet.cmd)
      answer(side, packet, script)
      script.onPacket?.(packet, side)
    })
    socket.on('data', (bytes) => parser.parse(bytes))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const close = async () => {
    for (const socket of sockets) socket.destroy()
    if (!server.listening) return
    server.close()
    await once(server, 'close')
  }
  t.teardown(close)
  const { port } = server.address() as AddressInfo
  return {
    ...{ port, sides, log, close },
    last() {
      const side = sides.at(-1)
      if (side === undefined) throw new Error('no client has connected')
      return side
    },
  }
}

function answer(side: BrokerSide, packet: mqttPacket.Packet, script: Script): void {
  const reply = replyTo(packet, script)
  if (reply !== undefined) side.send(reply)
}

function replyTo(packet: mqttPacket.Packet, script: Script): mqttPacket.Packet | undefined {
  const { messageId = 0 } = packet
  switch (packet.cmd) {
    case 'connect': {
      const accepted = { cmd: 'connack', reasonCode: 0, returnCode: 0, sessionPresent: false } as const
      return { ...accepted, ...script.connack?.() }
    }
    case 'subscribe': {
      const grant = script.grant ?? ((_filter: string, qos: number) => qos)
      const granted = packet.subscriptions.map(({ topic, qos }) => grant(topic, qos))
      return { cmd: 'suback', messageId, granted }
    }
    case 'unsubscribe':
      return { cmd: 'unsuback', messageId, granted: packet.unsubscriptions.map(() => 0) }
    case 'pubrec':
      return { cmd: 'pubrel', messageId }
    case 'pingreq':
      return script.isMute === true ? undefined : { cmd: 'pingresp' }
    default:
      return undefined
  }
}
