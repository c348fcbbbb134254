import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { close, constants, open } from 'node:fs'
import net from 'node:net'
import { ReadStream } from 'node:tty'
import { promisify } from 'node:util'
import type { BusSettings } from '../../config/modbus.js'
import type { Block } from './registers.js'

/** An open connection to a bus. */
export interface BusLink {
  /**
   * Reads a block of a device.
   *
   * @throws Error of no answer in time, an answer of another length, or an exception of the device
   */
  read(unit: number, block: Block): Promise<Buffer>
  isOpen(): boolean
  close(): void
}

/** Standard port of Modbus TCP. */
const PORT = 502
/** Longest run of the program that sets a serial line, ms. */
const STTY_MS = 5000

/** Connects to a bus. @throws Error of why it cannot */
export async function openLink(bus: BusSettings): Promise<BusLink> {
  // loaded here: gateways without devices need no memory for it
  const { default: modbus } = await import('modbus-serial')
  const socket = bus.url.startsWith('rtu:///') ? await openSerial(bus) : await openTcp(bus)
  const client = new modbus.default()
  const ended = new Promise<never>((_, reject) => {
    socket.once('error', reject)
    socket.once('close', () => reject(new Error('the connection was closed')))
  })
  ended.catch(() => undefined) // who reads hears of it; between two readings `isOpen` tells
  // a serial line carries the same frames as those over TCP
  await (bus.url.startsWith('tcp:') ? client.linkTCP(socket, { port: PORT }) : client.linkTelnet(socket, {}))
  client.on('error', () => undefined) // the socket has told
  client.setTimeout(bus.timeoutMs)
  const request = async (unit: number, { kind, address, count }: Block) => {
    client.setID(unit)
    if (kind === 'holding') return await client.readHoldingRegisters(address, count)
    if (kind === 'input') return await client.readInputRegisters(address, count)
    if (kind === 'coil') return await client.readCoils(address, count)
    return await client.readDiscreteInputs(address, count)
  }
  return {
    async read(unit, block) {
      const answer = request(unit, block).catch((error: unknown) => {
        if (!isTimeout(error)) throw error
        throw new Error(`found no answer within ${bus.timeoutMs} ms`, { cause: error })
      })
      const { buffer } = await Promise.race([answer, ended])
      const { kind, count } = block
      const expected = kind === 'holding' || kind === 'input' ? 2 * count : Math.ceil(count / 8)
      if (buffer.length !== expected)
        throw new Error(`found an answer of ${buffer.length} bytes, expected ${expected}`)
      return buffer
    },
    isOpen: () => !socket.destroyed && socket.readyState === 'open',
    close: () => client.destroy(() => undefined),
  }
}

function isTimeout(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'errno' in error && error.errno === 'ETIMEDOUT'
}

async function openTcp({ url, timeoutMs }: BusSettings): Promise<net.Socket> {
  const { hostname, port } = new URL(url.replace(/^[a-z+]+:/, 'http:'))
  // an address in brackets, as URLs have it
  const host = hostname.replace(/^\[|\]$/g, '')
  const socket = net.connect({ host, port: port === '' ? portOf(url) : Number(port), noDelay: true })
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(timeoutMs) })
    return socket
  } catch (error) {
    socket.on('error', () => undefined)
    socket.destroy()
    if (error instanceof Error && error.name === 'AbortError')
      throw new Error(`found no connection within ${timeoutMs} ms`, { cause: error })
    throw error
  }
}

/** Port that an address names, also 80, which `URL` leaves out; else the standard one. */
function portOf(url: string): number {
  return Number(/:(\d+)\/?$/.exec(url)?.[1] ?? PORT)
}

/**
 * Opens a serial line. `stty`, which every Linux has, sets it: a native addon would need a build for each processor,
 * and could not be in the executable.
 */
async function openSerial({ url, baudRate, parity, stopBits }: BusSettings): Promise<net.Socket> {
  const device = url.slice('rtu://'.length)
  const parityFlags = { none: ['-parenb'], even: ['parenb', '-parodd'], odd: ['parenb', 'parodd'] }[parity]
  const stop = stopBits === 2 ? 'cstopb' : '-cstopb'
  const flags = ['raw', '-echo', 'clocal', 'cread', '-crtscts', 'cs8', stop, ...parityFlags]
  try {
    // clocal first: without it an open waits for a modem, also that of stty itself, unless it does not block
    await promisify(execFile)('stty', ['-F', device, String(baudRate), ...flags], { timeout: STTY_MS })
  } catch (error) {
    const { stderr = '' } = error as { stderr?: string }
    const reason = stderr.trim().split('\n')[0] || (error instanceof Error ? error.message : String(error))
    throw new Error(`the serial line cannot be set: ${reason}`, { cause: error })
  }
  const fd = await promisify(open)(device, constants.O_RDWR | constants.O_NOCTTY | constants.O_NONBLOCK)
  try {
    return new ReadStream(fd) // also writes: it is a socket over the terminal
  } catch (error) {
    close(fd)
    throw error
  }
}
