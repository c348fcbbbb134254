import { AppError } from '../../errors.js'
import type { FeedRecord } from '../../storage/exchange/feeds.js'

/**
 * Requires a feed of a table.
 *
 * @throws AppError NOT_IN_THIS_VERSION for one that sends a citation
 */
export function requireTable({ dataName, start }: FeedRecord): void {
  if (start.citation === undefined) return
  const message = `The feed of ${dataName} sends a citation, whose checksum proves it, expected one of a table`
  throw new AppError('NOT_IN_THIS_VERSION', { feed: dataName }, { message })
}
