import { reasonSaid, t } from '../core/i18n.js'
import type { Said } from '../core/reason.js'
import { type FeedInfo, readFeeds } from '../feeds/read.js'
import { partName, readReadiness } from '../health/readiness.js'
import { readOpenTransfers, type TransferInfo } from '../models/read.js'

/** Trouble that needs a look, and the page that shows more of it. */
export interface Trouble extends Said {
  readonly href: string
}

/** Knowledge about the gateway's troubles. */
export interface TroubleReport {
  readonly found: readonly Trouble[]
  /** parts that could not be read, for want of a right or because of a fault */
  readonly unread: readonly string[]
}

/** Reads what is not ready, refused or failed; what cannot be read is named, so that silence is no promise. */
export async function readTrouble(): Promise<TroubleReport> {
  const sources: [name: string, read: () => Promise<Trouble[]>][] = [
    [t('navHealth'), partsInTrouble],
    [t('outbox'), async () => (await readOpenTransfers()).flatMap(transferTrouble)],
    [t('feeds'), async () => (await readFeeds()).flatMap(feedTrouble)],
  ]
  const results = await Promise.allSettled(sources.map(([, read]) => read()))
  return {
    found: results.flatMap((result) => (result.status === 'fulfilled' ? result.value : [])),
    unread: sources.flatMap(([name], at) => (results[at]?.status === 'rejected' ? [name] : [])),
  }
}

async function partsInTrouble(): Promise<Trouble[]> {
  const { parts } = await readReadiness()
  return parts
    .filter(({ isReady, isWarning }) => !isReady || isWarning === true)
    .map(({ part, reason }) =>
      troubleOf('#/health', reason ?? null, (why) => `${partName(part)}: ${why || t('notReady')}`),
    )
}

/** @param textOf makes the text from the reason, which is empty for none */
function troubleOf(href: string, reason: string | null, textOf: (reason: string) => string): Trouble {
  const said = reasonSaid(reason)
  return { ...said, text: textOf(said.text), href }
}

/** A transfer that failed or was tried in vain. */
function transferTrouble({ id, state, last_error }: TransferInfo): Trouble[] {
  if (state !== 'failed' && last_error === null) return []
  const textOf = (why: string) => t('homeTransfer', { id, reason: why || t('failedState') })
  return [troubleOf('#/outbox', last_error, textOf)]
}

/** A feed that is stopped, set rows aside, or was tried in vain. */
function feedTrouble({ table, state, last_error, set_aside }: FeedInfo): Trouble[] {
  if (state !== 'stopped' && set_aside.rows === 0 && last_error === null) return []
  const reason = last_error ?? set_aside.last[0]?.reason ?? null
  return [troubleOf('#/outbox', reason, (why) => t('homeFeed', { table, reason: why || state }))]
}
