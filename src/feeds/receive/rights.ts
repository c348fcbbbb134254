import { type Caller, isAllowed } from '../../auth/caller.js'
import { AppError } from '../../errors.js'
import type { AskedFeeds, FeedSenders } from '../../storage/exchange/feeds.js'

/** Stands for every table in a grant. */
const EVERY_TABLE = '*'

/**
 * Requires that a key belongs to a node, or to none yet.
 *
 * @param nodeId UUID of this gateway
 * @param node that the caller claims to be
 * @throws AppError LOOP, FORBIDDEN
 */
export async function requireNode(
  { senders, nodeId }: { readonly senders: FeedSenders; readonly nodeId: string },
  caller: Caller,
  node: string,
): Promise<void> {
  if (node === nodeId) {
    const message = `The node ${node} is this gateway: a feed goes to another node`
    throw new AppError('LOOP', { node }, { message })
  }
  const bound = await senders.find(caller.keyId, node)
  if (bound.nodeId !== undefined && bound.nodeId !== node) {
    const message = `The key sends for the node ${bound.nodeId}, found ${node}; make a key for each node`
    throw new AppError('FORBIDDEN', { node }, { message })
  }
  if (bound.otherKeyId !== null) {
    const message = `Another key sends for the node ${node}; revoke it before this one is used`
    throw new AppError('FORBIDDEN', { node }, { message })
  }
}

/**
 * Requires that a key may read a table as a feed: a key of scope `admin` reads every table, any other one those
 * that it was granted.
 *
 * @throws AppError FORBIDDEN
 */
export async function requireReadable(asked: AskedFeeds, caller: Caller, dataName: string): Promise<void> {
  if (isAllowed(caller.scopes, 'admin')) return
  const granted = await asked.granted(caller.keyId)
  if (!isIn(granted, dataName)) throw forbidden(dataName, granted)
}

/**
 * Requires that a key may send a table: one with a grant those of the grant, one without any table.
 *
 * @throws AppError FORBIDDEN
 */
export async function requireWritable(asked: AskedFeeds, caller: Caller, dataName: string): Promise<void> {
  const granted = await asked.granted(caller.keyId)
  if (granted.length > 0 && !isIn(granted, dataName)) throw forbidden(dataName, granted)
}

/**
 * Refuses a key that was made for the tables of a node: feeds and upstreams of this gateway are its operator's.
 *
 * @throws AppError FORBIDDEN
 */
export async function requireOperator(asked: AskedFeeds, caller: Caller): Promise<void> {
  const granted = await asked.granted(caller.keyId)
  if (granted.length === 0 || isAllowed(caller.scopes, 'admin')) return
  const message = 'The key is limited to tables of another node, and manages no feeds and upstreams'
  throw new AppError('FORBIDDEN', {}, { message })
}

/** Makes the error for rows of other nodes that a key may not touch. */
export function lacksRelay(sender: string, other: string): AppError {
  const message = `The key lacks the scope sync:relay, found a row of the node ${other}, expected rows of ${sender}`
  return new AppError('FORBIDDEN', { scope: 'sync:relay', origin: other }, { message })
}

/** Makes the error for a feed that was not opened as it is named. */
export function unknownFeed(feed: string): AppError {
  const message = `The feed ${feed} was not offered as this batch has it; offer its table first`
  return new AppError('UNKNOWN_FEED', { feed }, { message })
}

function isIn(granted: readonly string[], dataName: string): boolean {
  return granted.includes(dataName) || granted.includes(EVERY_TABLE)
}

function forbidden(dataName: string, granted: readonly string[]): AppError {
  const has =
    granted.length === 0 ? 'it was granted none' : `it was granted ${granted.slice(0, 5).join(', ')}`
  const message = `The key may not use the table ${dataName} as a feed: ${has}`
  return new AppError('FORBIDDEN', { data_name: dataName }, { message })
}
