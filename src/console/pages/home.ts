import { type Child, h } from '../core/dom.js'
import { formatBytes, formatNumber, formatTime, t } from '../core/i18n.js'
import type { Page } from '../core/page.js'
import { detailLine, facts, loaded, prose, table } from '../core/parts.js'
import { call, request } from '../core/rpc.js'
import { readTables } from '../core/tables.js'
import { readSample } from '../health/figures.js'
import { MOST_TABLES, readNewest } from '../home/newest.js'
import { readTrouble } from '../home/trouble.js'
import type { ServedMap } from '../map/state.js'
import { readOpenTransfers } from '../models/read.js'

/** First page: trouble, what is here, the newest events, and first steps. */
export function homePage(): Page {
  const element = h(
    'div',
    { class: 'stack' },
    h('h1', {}, t('navHome')),
    loaded(troubleNotices),
    h('div', { class: 'grid wide' }, section('homeHere', here), section('homeSteps', steps)),
    section('homeNewest', newest),
  )
  return { title: t('navHome'), element }
}

function section(
  word: 'homeHere' | 'homeSteps' | 'homeNewest',
  read: () => Promise<Child | Child[]>,
): HTMLElement {
  return h('section', { class: 'card' }, h('h2', {}, t(word)), loaded(read))
}

/** Trouble first; that everything works is said only when all of it could be read. */
async function troubleNotices(): Promise<HTMLElement[]> {
  const { found, unread } = await readTrouble()
  const notices = found.map(({ text, detail, href }) =>
    h('p', { class: 'notice bad' }, text, ' ', h('a', { href }, t('homeMore')), detailLine(detail)),
  )
  if (unread.length > 0)
    notices.push(h('p', { class: 'notice warn' }, t('homeUnread', { parts: unread.join(t('listComma')) })))
  return notices.length > 0 ? notices : [h('p', { class: 'notice good' }, t('homeFine'))]
}

async function here(): Promise<HTMLElement> {
  const [maps, tables, waiting, figures] = await Promise.all([
    orUndefined(async () => (await call<{ maps: ServedMap[] }>('routing.list_maps', {})).maps),
    orUndefined(readTables),
    orUndefined(async () => (await readOpenTransfers()).filter(({ kind }) => kind === 'feedback').length),
    orUndefined(async () => readSample(await (await request('/metrics')).text(), Date.now()).values),
  ])
  const { disk_free_bytes: free, disk_days: days } = figures ?? {}
  return facts([
    [t('homeMaps'), maps === undefined ? '–' : maps.map(({ name }) => name).join(', ') || t('none')],
    [t('navTables'), h('a', { href: '#/tables' }, numberText(tables?.length))],
    [t('homeWaiting'), h('a', { href: '#/outbox' }, numberText(waiting))],
    [t('metricDisk'), free === undefined ? '–' : formatBytes(free)],
    [t('homeDisk'), free === undefined ? '–' : days === undefined ? t('homeDiskUnknown') : daysText(days)],
  ])
}

function daysText(days: number): string {
  return t('days', { n: formatNumber(days, days < 10 ? 1 : 0) })
}

function numberText(count: number | undefined): string {
  return count === undefined ? '–' : formatNumber(count)
}

/** Value of a read that a key may lack the right to. */
async function orUndefined<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read()
  } catch {
    return undefined // shown as a dash
  }
}

async function steps(): Promise<HTMLElement> {
  const step = (href: string, title: string, text: string) =>
    h('li', {}, h('a', { href }, title), h('br'), h('span', { class: 'soft small' }, text))
  return h(
    'ol',
    { class: 'steps' },
    step('#/import', t('homeStep1'), t('homeStep1Hint')),
    step('#/map', t('homeStep2'), t('homeStep2Hint')),
    step('#/api', t('homeStep3'), t('homeStep3Hint')),
  )
}

async function newest(): Promise<Child[]> {
  const tables = await readTables()
  const events = await readNewest(tables)
  const list = table(
    t('homeNewest'),
    [t('startTime'), t('homeTable'), t('homeValues')],
    events.map(({ table: name, start, text }) => [
      formatTime(start),
      h('a', { href: `#/tables/${encodeURIComponent(name)}` }, name),
      prose(text),
    ]),
    t('homeNoEvents'),
  )
  const cut = h('p', { class: 'soft small' }, t('homeNewestOf', { n: MOST_TABLES }))
  return [list, tables.length > MOST_TABLES && cut]
}
