import { isUtf8 } from 'node:buffer'
import { type Command, InvalidArgumentError } from 'commander'
import { formatDatetimeShort, parseOffset } from '../../datetime.js'
import type { NotedBroker, NotedBus, Reject } from '../../storage/ingest.js'
import { type CliDeps, type CliIo, oneLine, printJson } from '../io.js'
import { type GatewayAction, withGatewayState } from '../keys/with-state.js'
import type { RunSettings } from '../settings.js'

/** Rejects that `ingest rejects` prints without `--limit`, and the most of a setting `ingest.rejectRows`. */
const DEFAULT_LIMIT = 20
const MAX_LIMIT = 100_000
/** Bytes of a payload that are printed. */
const HEAD_BYTES = 100

/** Adds the verbs of data that comes in by itself. They read what a gateway, running or not, has noted last. */
export function addIngestCommands(program: Command, io: CliIo, deps: CliDeps): void {
  const ingest = program
    .command('ingest')
    .description('data that comes in by itself, from MQTT brokers and Modbus devices')
  ingest
    .command('status')
    .description('prints how brokers and buses of the settings are, as a running gateway notes each minute')
    .action(async (_options, command: Command) => withGatewayState(command, deps, printStatus(io)))
  ingest
    .command('rejects')
    .description('prints messages and readings that could not be stored, the newest first, with the reason')
    .option('--broker <name>', 'those of one broker, or of one bus')
    .option('--limit <count>', 'most messages', readLimit, DEFAULT_LIMIT)
    .action(async (_options, command: Command) => withGatewayState(command, deps, printRejects(io)))
}

/** Prints the brokers of the settings, and those that the settings name no more. */
function printStatus(io: CliIo): GatewayAction<object> {
  return async (state, { json }, settings) => {
    const named = settings.config.ingest.mqtt.brokers
    const noted = await state.ingest.brokers()
    const notedOf = new Map(noted.map((broker) => [broker.name, broker]))
    const names = [...new Set([...named.map(({ name }) => name), ...noted.map(({ name }) => name)])]
    const urlOf = new Map(named.map(({ name, url }) => [name, url]))
    const rows = names.map((name) => statusOf(name, urlOf.get(name) ?? null, notedOf.get(name), settings))
    const buses = busRows(await state.ingest.buses(), settings)
    const kept = await state.ingest.countRejects()
    if (json === true) return printJson(io, { brokers: rows, buses, rejectsKept: kept })
    for (const row of rows) io.stdout.write(statusText(row))
    for (const row of buses) io.stdout.write(busText(row))
    if (rows.length + buses.length === 0) io.stdout.write('The settings name no broker and no bus.\n')
    else io.stdout.write(`${kept} rejects are kept: \`fieldgate ingest rejects\` prints them.\n`)
  }
}

type StatusRow = ReturnType<typeof statusOf>

/** @param url null for a broker that the settings do not name */
function statusOf(name: string, url: string | null, noted: NotedBroker | undefined, settings: RunSettings) {
  const time = timeText(settings)
  const { status = null, notedAtUs = null } = noted ?? {}
  if (status === null || notedAtUs === null) return { name, url, notedAt: null, status: null }
  const { sinceUs, ...facts } = status
  return { name, url, notedAt: time(notedAtUs), status: { ...facts, since: time(sinceUs) } }
}

function statusText({ name, url, notedAt, status }: StatusRow): string {
  const head = `${name} ${url ?? '(the settings do not name it)'}`
  if (status === null) return `${head}\n  no gateway has run with it yet\n`
  const { isConnected, since, lastError, messages, rows, repeats, rejects, published } = status
  const reason = lastError === null ? '' : isConnected ? `; before: ${lastError}` : `: ${lastError}`
  const lines = [
    `${isConnected ? 'connected' : 'not connected'} since ${since}${reason}, noted at ${notedAt}`,
    `since the gateway started: ${messages} messages, ${rejects} of them rejected; ${rows} rows stored, of which ${repeats} were there; ${published} published`,
    `${status.waiting} wait to be stored, ${status.unpublished} to be published; ${status.reconnects} reconnects, ${status.lostSessions} lost sessions`,
    ...status.faults.map((fault) => `fault: ${fault}`),
    ...status.warnings.map((warning) => `warning: ${warning}`),
  ]
  return [head, ...lines.map((line) => `  ${oneLine(line)}`), ''].join('\n')
}

type BusRow = ReturnType<typeof busRows>[number]

/** The buses of the settings, and those that the settings name no more. */
function busRows(noted: readonly NotedBus[], settings: RunSettings) {
  const time = timeText(settings)
  const named = settings.config.ingest.modbus.buses
  const urlOf = new Map(named.map(({ name, url }) => [name, url]))
  const notedOf = new Map(noted.map((bus) => [bus.name, bus]))
  return [...new Set([...urlOf.keys(), ...notedOf.keys()])].map((name) => {
    const url = urlOf.get(name) ?? null
    const found = notedOf.get(name)
    if (found === undefined) return { name, url, notedAt: null, status: null }
    const { sinceUs, ...facts } = found.status
    return { name, url, notedAt: time(found.notedAtUs), status: { ...facts, since: time(sinceUs) } }
  })
}

function busText({ name, url, notedAt, status }: BusRow): string {
  const head = `${name} ${url ?? '(the settings do not name it)'}`
  if (status === null) return `${head}\n  no gateway has run with it yet\n`
  const { isConnected, since, lastError, readings, failures, rows, rejects, waiting } = status
  const reason = lastError === null ? '' : isConnected ? `; before: ${lastError}` : `: ${lastError}`
  const lines = [
    `${isConnected ? 'connected' : 'not connected'} since ${since}${reason}, noted at ${notedAt}`,
    `since the gateway started: ${readings} readings, ${failures} failed; ${rows} rows stored, ${rejects} rejected; ${waiting} wait`,
    ...status.faults.map((fault) => `fault: ${fault}`),
    ...status.warnings.map((warning) => `warning: ${warning}`),
  ]
  return [head, ...lines.map((line) => `  ${oneLine(line)}`), ''].join('\n')
}

function printRejects(io: CliIo): GatewayAction<{ broker?: string; limit: number }> {
  return async (state, { broker, limit, json }, settings) => {
    if (broker !== undefined) await requireBroker(broker, state, settings)
    const rejects = await state.ingest.listRejects(limit, broker)
    const time = timeText(settings)
    if (json === true)
      return printJson(
        io,
        rejects.map((reject) => rejectFacts(reject, time)),
      )
    for (const { atUs, broker: from, topic, reason, payload, payloadBytes } of rejects) {
      const head = `${time(atUs)}  ${from}  ${topic}  ${reason}`
      io.stdout.write(`${oneLine(head)}\n  ${payloadBytes} bytes: ${payloadText(payload, payloadBytes)}\n`)
    }
    if (rejects.length === 0) io.stdout.write('Nothing was rejected.\n')
  }
}

/** @throws Error that names the brokers, for one that neither the settings nor a gateway knows */
async function requireBroker(
  broker: string,
  { ingest }: Parameters<GatewayAction<object>>[0],
  { config }: RunSettings,
): Promise<void> {
  const { mqtt, modbus } = config.ingest
  const noted = [...(await ingest.brokers()), ...(await ingest.buses())]
  const known = new Set([...mqtt.brokers, ...modbus.buses, ...noted].map(({ name }) => name))
  if (!known.has(broker))
    throw new Error(
      `found the broker ${broker}, expected one of: ${[...known].join(', ') || 'none is named'}`,
    )
}

function rejectFacts(
  { atUs, broker, topic, reason, payload, payloadBytes }: Reject,
  time: (us: number) => string,
) {
  const bytes = Buffer.from(payload)
  const head = isText(payload, payloadBytes)
    ? { payload: bytes.toString() }
    : { payloadBase64: bytes.toString('base64') }
  return { at: time(atUs), broker, topic, reason, payloadBytes, ...head }
}

/** The first bytes of a payload in one line: as a JSON string, or hexadecimal where they are no text. */
function payloadText(payload: Uint8Array, payloadBytes: number): string {
  const head = Buffer.from(payload.subarray(0, HEAD_BYTES))
  const more = payloadBytes > head.length ? '…' : ''
  if (isText(payload, payloadBytes)) return `${oneLine(JSON.stringify(head.toString()))}${more}`
  return `0x${head.toString('hex')}${more}`
}

/** @param payload the first of `payloadBytes`: they may end within a character */
function isText(payload: Uint8Array, payloadBytes: number): boolean {
  const cuts = payload.length < payloadBytes ? [0, 1, 2, 3] : [0]
  return cuts.some((cut) => isUtf8(payload.subarray(0, payload.length - cut)))
}

function timeText({ config }: RunSettings): (us: number) => string {
  const offsetMin = parseOffset(config.service.timeZone) ?? 0
  return (us) => formatDatetimeShort(us, offsetMin)
}

function readLimit(text: string): number {
  const limit = Number(text)
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > MAX_LIMIT)
    throw new InvalidArgumentError(`Expected a whole number from 1 to ${MAX_LIMIT}.`)
  return limit
}
