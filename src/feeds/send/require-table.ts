import { AppError } from '../../errors.js'
import type { FeedRecord } from '../../storage/exchange/feeds.js'

/**
 * Requires a feed that sends a table from here.
 *
 * @throws AppError NOT_IN_THIS_VERSION for one that comes down, or sends a citation
 */
export function requireTableUp({ dataName, direction, start }: FeedRecord): void {
  if (direction === 'up' && start.citation === undefined) return
  const found = direction === 'down' ? 'comes down' : 'sends a citation, whose checksum proves it'
  const message = `The feed of ${dataName} ${found}, expected one of a table that goes up`
  throw new AppError('NOT_IN_THIS_VERSION', { feed: dataName }, { message })
}
