import { z } from 'zod'
import { withDoubles } from '../../json/exact-json.js'
import { malformed, refused } from '../../sync/faults.js'
import { parseObject, type Reply, type UpstreamClient } from '../../sync/http-client.js'
import type { Throttle } from '../../sync/throttle.js'
import { TableDefinitionForm } from '../batch/definition-form.js'
import { LAST_DAY, MAX_BATCH_BYTES, SHA256, UUID } from '../batch/format.js'
import { type AskedBatch, type FetchLink, readRefusal, SYNC_PATH } from '../send/link.js'

const SumForm = z.looseObject({
  origin: z.string().regex(UUID),
  day: z.int().min(0).max(LAST_DAY),
  rows: z.int().min(0),
  digest: z.string().regex(SHA256),
  removed: z.int().min(0).optional(),
})
const Start = z.looseObject({
  tableUuid: z.string().max(100),
  afterChange: z.int().min(0),
  untilChange: z.int().min(0),
  fromUs: z.int().nullable(),
})
const Asked = z.looseObject({
  node: z.string().regex(UUID),
  table: z.string().regex(UUID),
  epoch: z.int().min(0),
  definition: TableDefinitionForm,
  start: Start,
  last: z.int().min(0),
  sums: z.array(SumForm).optional(),
  scanned: z.int().min(0).optional(),
})
const TooLarge = z.looseObject({ change: z.int(), key: z.string(), reason: z.string() })

/** Creates the side of a link that asks for tables. */
export function createFetchLink(client: UpstreamClient): FetchLink {
  return {
    async ask(question, signal) {
      const found = withDoubles(await client.rpc(SYNC_PATH, 'sync.ask_table', question, signal))
      const result = Asked.safeParse(found)
      if (!result.success) throw malformed('another result than that of sync.ask_table')
      const { sums, scanned, ...answer } = result.data
      if (sums === undefined) return answer
      return scanned === undefined ? { ...answer, sums } : { ...answer, sums, scanned }
    },
    async fetch(request, throttles, signal) {
      const reply = await get(client, request, {}, signal)
      if (reply.status === 204) {
        await reply.discard()
        return { kind: 'none' }
      }
      if (reply.status !== 200) return refusalOf(reply.status, await reply.text(), reply.headers)
      return await readBatch(reply, throttles, signal)
    },
    async fetchAgain({ fromDay, toDay, afterRow, ...request }, throttles, signal) {
      const days = { from_day: `${fromDay}`, to_day: `${toDay}`, after_row: `${afterRow}` }
      const reply = await get(client, request, days, signal)
      if (reply.status !== 200 && reply.status !== 204) {
        refusalOf(reply.status, await reply.text(), reply.headers)
        return undefined
      }
      const until = Number(reply.headers['fieldgate-again-until'] ?? Number.NaN)
      if (reply.status === 204 || !Number.isSafeInteger(until) || until < afterRow) {
        await reply.discard()
        throw malformed('rows once more without Fieldgate-Again-Until: an upstream of an earlier version')
      }
      const { body, tooLarge } = await readBatch(reply, throttles, signal)
      const isEnd = reply.headers['fieldgate-again-end'] === '1'
      if (!isEnd && until === afterRow) throw malformed('rows once more that do not go on')
      return { body, until, isEnd, tooLarge }
    },
  }
}

/** Asks for a batch. @param more of the query */
async function get(
  client: UpstreamClient,
  { table, feed, epoch, after, waitS }: Parameters<FetchLink['fetch']>[0],
  more: Record<string, string>,
  signal: AbortSignal,
): Promise<Reply> {
  const place = { feed, epoch: `${epoch}`, after: `${after}`, wait: `${waitS}` }
  const query = new URLSearchParams({ ...place, ...more })
  return await client.send({
    ...{ method: 'GET', path: `/api/v2/sync/tables/${table}/batches?${query}`, signal },
    headers: { accept: 'application/x-ndjson', 'accept-encoding': 'zstd' },
  })
}

/** Reads a batch as fast as all throttles allow it: what is not read yet holds the upstream back. */
async function readBatch(
  reply: Reply,
  throttles: readonly Throttle[],
  signal: AbortSignal,
): Promise<Extract<AskedBatch, { kind: 'batch' }>> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of reply.chunks()) {
    bytes += chunk.byteLength
    if (bytes > MAX_BATCH_BYTES) throw malformed(`a batch of more than ${MAX_BATCH_BYTES} bytes`)
    chunks.push(chunk)
    for (const throttle of throttles) await throttle.take(chunk.byteLength, signal)
  }
  const last = Number(reply.headers['fieldgate-last-change'])
  if (!Number.isSafeInteger(last) || last < 0) throw malformed('a batch without Fieldgate-Last-Change')
  const aside = reply.headers['fieldgate-set-aside']
  const tooLarge = typeof aside === 'string' ? readTooLarge(aside) : undefined
  const body = Buffer.concat(chunks)
  return tooLarge === undefined ? { kind: 'batch', body, last } : { kind: 'batch', body, last, tooLarge }
}

function readTooLarge(header: string): z.output<typeof TooLarge> {
  const text = Buffer.from(header, 'base64').toString('utf8')
  const found = TooLarge.safeParse(withDoubles(parseObject(text)))
  if (!found.success) throw malformed('another form of Fieldgate-Set-Aside')
  return found.data
}

/** @throws AppError UPSTREAM_REFUSED for what does not mean that the table must be asked for again */
function refusalOf(
  status: number,
  text: string,
  headers: Record<string, string | string[] | undefined>,
): AskedBatch {
  const { name, message } = readRefusal(text)
  if (name === 'UNKNOWN_FEED') return { kind: 'unknown' }
  throw refused(status, message, headers, name)
}
