import { t, type Word } from '../core/i18n.js'
import { fault, readAnswer, request, rpcFault } from '../core/rpc.js'

/** Whether the gateway and each of its parts are ready, as in the body of `/readyz`. */
export interface Readiness {
  readonly status: string
  readonly parts: readonly { part: string; isReady: boolean; isWarning?: boolean; reason?: string }[]
}

/** Names of the parts, for people. */
const PARTS: Readonly<Record<string, Word>> = {
  ...{
    database: 'partDatabase',
    disk: 'partDisk',
    search: 'partSearch',
    maps: 'partMaps',
    outbox: 'partOutbox',
  },
  ...{ clock: 'partClock', objects: 'partObjects', start: 'partStart', drain: 'partDrain' },
}

/** Name of a part in the language of the page. */
export function partName(part: string): string {
  const word = PARTS[part]
  return word === undefined ? part : t(word)
}

/** Reads `/readyz`, which answers 200, or 503 when a part is not ready. @throws CallFault for other answers */
export async function readReadiness(): Promise<Readiness> {
  const response = await request('/readyz')
  const answer = await readAnswer(response)
  if ('parts' in answer) return answer as unknown as Readiness
  const { error } = answer
  throw error === undefined
    ? fault('NETWORK', response.status, `Found HTTP ${response.status}, expected the parts of the gateway`)
    : rpcFault(response.status, error)
}
