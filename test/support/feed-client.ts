import { readColumns } from '../../src/api/sync/read-columns.js'
import type { Caller } from '../../src/auth/caller.js'
import { ERRORS, toAppError } from '../../src/errors.js'
import type { FeedGiver } from '../../src/feeds/give/giver.js'
import type { FeedReceiver } from '../../src/feeds/receive/receiver.js'
import type { SumsAnswerer, SumsQuestion } from '../../src/feeds/receive/sums.js'
import type { SumsRequest, TableAsked } from '../../src/feeds/send/link.js'
import { toRpcError } from '../../src/rpc/envelope.js'
import { refused, unreachable } from '../../src/sync/faults.js'
import type { Reply, UpstreamClient } from '../../src/sync/http-client.js'

/** What a link does to a call: nothing, loses the call, or loses the answer after the call was done. */
export type Cut = 'none' | 'call' | 'answer'

/** The side of a node that answers others. */
export interface AnsweringNode {
  readonly receiver: FeedReceiver
  readonly giver: FeedGiver
  readonly sumsAnswerer: SumsAnswerer
  /** fires when the node is killed: its connections break */
  readonly killed: AbortSignal
}

interface NodeClientOptions {
  /** name of the node that calls */
  readonly from: string
  /** Finds the node that is called; undefined while it is down. */
  find(): AnsweringNode | undefined
  /** decides what happens to a call */
  cut(): Cut
  /** calls that are not answered yet, for messages */
  readonly calling: Set<PendingCall>
}

/** A call that is not answered yet. */
export interface PendingCall {
  readonly what: string
  readonly sinceMs: number
}

/** Makes the client of a node whose requests are calls of another node in this process. */
export function createNodeClient({ from, find, cut, calling }: NodeClientOptions): UpstreamClient {
  const caller: Caller = {
    ...{ keyId: `key of ${from}`, keyName: from, sessionId: null, endsAtUs: null },
    scopes: ['admin'],
  }
  const reach = async <T>(
    what: string,
    signal: AbortSignal,
    call: (node: AnsweringNode) => Promise<T>,
  ): Promise<T> => {
    const fate = cut()
    const node = find()
    if (fate === 'call' || node === undefined) throw unreachable(new Error('cut'))
    const pending = { what, sinceMs: performance.now() }
    calling.add(pending)
    try {
      const result = await whileOpen(AbortSignal.any([signal, node.killed]), call(node))
      if (fate === 'answer' || find() !== node) throw unreachable(new Error('cut'))
      return result
    } finally {
      calling.delete(pending)
    }
  }
  return {
    send: async ({ method, path, body, signal }) =>
      await reach(`${method} ${path}`, signal, async ({ receiver, giver }) => {
        const url = new URL(path, 'http://node')
        const table = url.pathname.split('/')[5] ?? ''
        try {
          if (method === 'POST') {
            const result = await receiver.take(caller, table, await bytesOf(body))
            return replyOf(200, Buffer.from(JSON.stringify(result)))
          }
          const given = await giver.next(caller, requestOf(url, table), signal, async () => undefined)
          if (given === undefined) return replyOf(204, Buffer.of())
          return replyOf(200, Buffer.from(given.body), { 'fieldgate-last-change': `${given.last}` })
        } catch (error) {
          const { status } = ERRORS[toAppError(error).errorName]
          return replyOf(status, Buffer.from(JSON.stringify({ error: toRpcError(error, '') })))
        }
      }),
    rpc: async (_path, method, params, signal) =>
      await reach(method, signal, async (node) => {
        try {
          return JSON.parse(JSON.stringify(await callOf(caller, node, { method, params }, signal)))
        } catch (error) {
          const { errorName, message } = toAppError(error)
          throw refused(ERRORS[errorName].status, message, {}, errorName)
        }
      }),
    close: async () => undefined,
  }
}

/** Waits for an answer as long as the connection is open. @throws AppError UPSTREAM_UNREACHABLE */
async function whileOpen<T>(broken: AbortSignal, answer: Promise<T>): Promise<T> {
  return await new Promise((resolve, reject) => {
    const end = () => reject(unreachable(new Error('cut')))
    if (broken.aborted) end()
    broken.addEventListener('abort', end)
    const closed = () => broken.removeEventListener('abort', end)
    answer.then(resolve, reject).finally(closed)
  })
}

async function callOf(
  caller: Caller,
  { receiver, giver, sumsAnswerer }: AnsweringNode,
  { method, params }: { method: string; params: object },
  signal: AbortSignal,
): Promise<unknown> {
  if (method === 'sync.offer_table') {
    const offer = params as Parameters<FeedReceiver['offer']>[1] // the sender made it
    return await receiver.offer(caller, offer, readColumns(offer.definition))
  }
  if (method === 'sync.table_sums') {
    const { node, table, recount, ...asked } = params as SumsRequest // the comparison made it
    const question: SumsQuestion = { ...asked, sender: node, senderTable: table, isRecount: recount }
    return await sumsAnswerer.answer(caller, question)
  }
  const { table: dataName, sums, after, ...asked } = params as TableAsked & Parameters<FeedGiver['ask']>[1]
  const answer = await giver.ask(caller, { ...asked, dataName })
  if (sums === undefined) return answer
  const isRecount = sums === 'recount'
  return { ...answer, ...(await giver.sums(caller, { feedId: asked.feed, isRecount, after }, signal)) }
}

function requestOf(url: URL, tableUuid: string): Parameters<FeedGiver['next']>[1] {
  const numberOf = (name: string) => Number(url.searchParams.get(name))
  return {
    ...{ tableUuid, feedId: url.searchParams.get('feed') ?? '', epoch: numberOf('epoch') },
    ...{ after: numberOf('after'), waitMs: numberOf('wait') * 1000 },
  }
}

async function bytesOf(body: string | AsyncIterable<Uint8Array> | undefined): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  if (body !== undefined && typeof body !== 'string') for await (const chunk of body) chunks.push(chunk)
  return Buffer.concat(chunks)
}

function replyOf(status: number, body: Buffer, headers: Record<string, string> = {}): Reply {
  return {
    ...{ status, headers, text: async () => body.toString('utf8'), discard: async () => undefined },
    async *chunks() {
      yield body
    },
  }
}
