import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import net from 'node:net'
import tls from 'node:tls'
import type { BrokerSettings } from '../config/ingest.js'
import { messageOf } from '../errors.js'
import type { Credentials } from './mqtt/session.js'

/** Ports of MQTT without and with TLS. */
const PORT = 1883
const TLS_PORT = 8883

/** Most bytes of one event `data` of a socket. */
const CHUNK_BYTES = 64 * 1024

/**
 * Opens a socket to a broker; the files of TLS are read each time, as they may be renewed. The bytes of its event
 * `data` are valid during the event.
 *
 * @throws Error that names a file
 */
export async function openBrokerSocket(broker: BrokerSettings): Promise<net.Socket> {
  const url = new URL(broker.url)
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const isTls = url.protocol === 'mqtts:'
  const port = url.port === '' ? (isTls ? TLS_PORT : PORT) : Number(url.port)
  // memory that is used again: chunks that wait while the socket pauses would become old objects, which V8 frees late
  const onread = {
    buffer: new Uint8Array(CHUNK_BYTES),
    callback: (count: number, bytes: Uint8Array): boolean =>
      socket.emit('data', Buffer.from(bytes.buffer, bytes.byteOffset, count)),
  }
  const socket: net.Socket = isTls
    ? tls.connect({
        ...{ host, port, onread },
        ...(net.isIP(host) === 0 ? { servername: host } : {}),
        ...tlsFiles(broker),
      })
    : net.connect({ host, port, onread })
  return socket
}

/** Reads the files of TLS. @throws Error that names the file that cannot be read, or fits no other */
export function tlsFiles({ caFile, certFile, keyFile }: BrokerSettings): tls.SecureContextOptions {
  const files = {
    ...(caFile === undefined ? {} : { ca: readNamed('caFile', caFile) }),
    ...(certFile === undefined ? {} : { cert: readNamed('certFile', certFile) }),
    ...(keyFile === undefined ? {} : { key: readNamed('keyFile', keyFile) }),
  }
  try {
    tls.createSecureContext(files)
  } catch (error) {
    const names = [caFile, certFile, keyFile].filter((name) => name !== undefined).join(', ')
    throw new Error(`caFile, certFile, keyFile: ${names} cannot be used: ${messageOf(error)}`, {
      cause: error,
    })
  }
  return files
}

/** Reads user and password. @throws Error that names the file */
export async function readCredentials({ username, passwordFile }: BrokerSettings): Promise<Credentials> {
  if (passwordFile === undefined) return { username }
  try {
    const [line = ''] = (await readFile(passwordFile, 'utf8')).split(/\r?\n/, 1)
    return { username, password: Buffer.from(line) }
  } catch (error) {
    throw new Error(`passwordFile: ${passwordFile} cannot be read: ${messageOf(error)}`, { cause: error })
  }
}

function readNamed(setting: string, name: string): Buffer {
  try {
    return readFileSync(name)
  } catch (error) {
    throw new Error(`${setting}: ${name} cannot be read: ${messageOf(error)}`, { cause: error })
  }
}
