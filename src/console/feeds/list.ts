import { fill, h } from '../core/dom.js'
import { formatBytes, formatHours, formatNumber, t, type Word } from '../core/i18n.js'
import {
  badge,
  button,
  confirmed,
  prose,
  reasonNote,
  showFault,
  type statusLine,
  table,
  waitingBox,
} from '../core/parts.js'
import { call } from '../core/rpc.js'
import { type FeedInfo, type FeedState, readFeeds } from './read.js'

const STATES: Record<FeedState, { word: Word; kind: string }> = {
  stopped: { word: 'feedStopped', kind: 'bad' },
  sending: { word: 'sending', kind: 'accent' },
  waiting: { word: 'queued', kind: 'warn' },
  closed: { word: 'feedClosed', kind: 'warn' },
  idle: { word: 'feedIdle', kind: 'good' },
  disabled: { word: 'feedDisabled', kind: '' },
}

/** Feeds with what each is behind, and the buttons that let them go on, hold them and remove them. */
export function feedList(status: ReturnType<typeof statusLine>) {
  const element = waitingBox()
  let shown = ''
  const refresh = async () => {
    try {
      const feeds = await readFeeds()
      const now = JSON.stringify(feeds)
      // an unchanged table is left alone, so that a screen reader keeps its position
      if (now !== shown) fill(element, summary(feeds), feedTable(feeds, act))
      shown = now
    } catch (error) {
      shown = showFault(element, error, shown, refresh)
    }
  }
  const act = async (method: string, params: object) => {
    try {
      await call(method, params)
      status.say('')
    } catch (error) {
      status.bad(error)
    }
    await refresh()
  }
  return { element, refresh }
}

type Act = (method: string, params: object) => Promise<void>

function summary(feeds: readonly FeedInfo[]): HTMLElement {
  const rows = feeds.reduce((sum, { rows_behind }) => sum + rows_behind, 0)
  const oldestS = Math.max(0, ...feeds.map(({ oldest_s }) => oldest_s ?? 0))
  const stopped = feeds.filter(({ state }) => state === 'stopped').length
  const values = { rows: formatNumber(rows), oldest: formatHours(oldestS / 3600), stopped }
  return h('p', { role: 'status' }, t('summaryFeeds', values))
}

function feedTable(feeds: readonly FeedInfo[], act: Act): HTMLElement {
  return table(
    t('feeds'),
    [
      ...[t('tableWord'), t('direction'), t('upstream'), t('state'), t('behind'), t('rate')],
      ...[t('lastError'), t('actions')],
    ],
    feeds.map((feed) => [
      feed.table,
      t(feed.direction === 'up' ? 'directionUp' : 'directionDown'),
      feed.upstream,
      badge(t(STATES[feed.state].word), STATES[feed.state].kind),
      behindOf(feed),
      rateOf(feed),
      h('div', {}, reasonNote(feed.last_error), setAsideOf(feed)),
      actionsOf(feed, act),
    ]),
    t('feedsNone'),
  )
}

function behindOf({ rows_behind, bytes_behind, oldest_s }: FeedInfo): HTMLElement {
  const rows = t('rowCount', { n: formatNumber(rows_behind) })
  const bytes = rows_behind === 0 || bytes_behind === null ? '' : `, ${formatBytes(bytes_behind)}`
  const age = oldest_s !== null && t('oldestAge', { age: formatHours(oldest_s / 3600) })
  return twoLines(`${rows}${bytes}`, age)
}

function rateOf({ bytes_per_second, time_left_s }: FeedInfo): HTMLElement {
  const rate = bytes_per_second === null ? '–' : `${formatBytes(bytes_per_second)}/s`
  return twoLines(rate, time_left_s !== null && t('timeLeft', { time: formatHours(time_left_s / 3600) }))
}

function twoLines(first: string, second: string | false): HTMLElement {
  return h('div', {}, first, second !== false && h('div', { class: 'soft small' }, second))
}

/** Number of the rows that were refused for good; the last reasons are folded behind it. */
function setAsideOf({ set_aside: { rows, last } }: FeedInfo): HTMLElement | false {
  if (rows === 0) return false
  return h(
    'details',
    {},
    h('summary', {}, t('setAside', { n: formatNumber(rows) })),
    h(
      'ul',
      {},
      last.map(({ row_key, reason }) => h('li', {}, prose(`${row_key}: `), reasonNote(reason))),
    ),
  )
}

function actionsOf(feed: FeedInfo, act: Act): HTMLElement {
  const { feed: id, state, table: name, enabled } = feed
  const remove = async () => {
    if (await confirmed(t('removeFeedSure', { name }), t('remove')))
      await act('sync.delete_feed', { feed: id })
  }
  const turn = (word: Word, isOn: boolean) =>
    button(t(word), () => void act('sync.update_feed', { feed: id, enabled: isOn }), 'small')
  return h(
    'div',
    { class: 'row' },
    state === 'stopped' && turn('goOn', true),
    enabled ? turn('disable', false) : turn('enable', true),
    button(t('remove'), () => void remove(), 'small bad'),
  )
}
