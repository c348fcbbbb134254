import { h } from '../core/dom.js'
import { formatBytes, formatHours, formatNumber, formatTime, t, type Word } from '../core/i18n.js'
import { badge, button, confirmed, facts, prose, type statusLine, table } from '../core/parts.js'
import type { Gateway, GatewayHistory, Profile, Report } from './read.js'
import { ageS, troubleOf } from './trouble.js'

const STATES: Record<Gateway['state'], Word> = {
  member: 'memberState',
  left: 'leftState',
  revoked: 'revokedState',
}

/** Act on a gateway, then show all again. */
export type Act = (method: string, params: object) => Promise<void>

/** Gateways of a page of the list. */
export function gatewayTable(gateways: readonly Gateway[], profiles: readonly Profile[]): HTMLElement {
  return table(
    t('hubGateways'),
    [
      ...[t('name'), t('state'), t('trouble'), t('lastReport'), t('profile'), t('backlog')],
      ...[t('programVersion'), t('position')],
    ],
    gateways.map((gateway) => [
      h('a', { href: `#/fleet/gateway/${gateway.node}` }, gateway.name),
      stateBadge(gateway),
      troubleList(gateway, troubleOf(gateway, newestOf(gateway, profiles))),
      seenText(gateway),
      t('profileVersion', { name: gateway.profile, n: gateway.applied ?? '–' }),
      backlogText(gateway.report),
      gateway.report?.version ?? '',
      positionText(gateway.report),
    ]),
    t('hubGatewaysNone'),
  )
}

function newestOf({ profile }: Gateway, profiles: readonly Profile[]): number | undefined {
  return profiles.find(({ name }) => name === profile)?.version
}

function stateBadge({ state }: Gateway): HTMLElement {
  return badge(t(STATES[state]), state === 'member' ? 'good' : state === 'revoked' ? 'bad' : '')
}

function troubleList({ state }: Gateway, trouble: readonly string[]): HTMLElement | string {
  if (trouble.length === 0) return state === 'member' ? t('inOrder') : ''
  return h(
    'ul',
    { class: 'prose' },
    trouble.map((line) => h('li', {}, line)),
  )
}

function seenText(gateway: Gateway): string {
  const age = ageS(gateway)
  return age === null ? t('neverReported') : t('agoTime', { age: formatHours(age / 3600) })
}

function backlogText(report: Report | null): string {
  if (report === null) return ''
  const { rows, models, bytes } = report.backlog
  return t('backlogRows', {
    rows: formatNumber(rows),
    models: formatNumber(models),
    bytes: formatBytes(bytes),
  })
}

function positionText(report: Report | null): string {
  const [lng, lat] = report?.position ?? []
  return lng === undefined || lat === undefined ? '' : `${formatNumber(lng, 5)}, ${formatNumber(lat, 5)}`
}

/** One gateway: its last report, its history of a day, and the buttons that end its membership. */
export function oneGateway(
  gateway: GatewayHistory,
  profiles: readonly Profile[],
  act: Act,
  status: ReturnType<typeof statusLine>,
): HTMLElement[] {
  const { node, name, state, report, reports, profile, applied } = gateway
  const method = state === 'member' ? 'fleet.revoke' : 'fleet.forget'
  const [word, question] =
    state === 'member' ? (['revoke', 'revokeSure'] as const) : (['forget', 'forgetSure'] as const)
  const end = async () => {
    if (await confirmed(t(question, { name }), t(word))) await act(method, { node })
  }
  return [
    facts([
      [t('nodeId'), h('span', { class: 'mono' }, node)],
      [t('state'), stateBadge(gateway)],
      [t('trouble'), troubleList(gateway, troubleOf(gateway, newestOf(gateway, profiles)))],
      [t('joinedAt'), formatTime(gateway.joined_at)],
      [t('lastReport'), `${formatTime(gateway.last_seen)} (${seenText(gateway)})`],
      [t('profile'), t('profileVersion', { name: profile, n: applied ?? '–' })],
      [t('programVersion'), report?.version ?? ''],
      [t('backlog'), backlogText(report)],
      [t('freeDisk'), formatBytes(report?.disk_free_bytes ?? null)],
      [t('doctorLine'), report?.doctor ?? t('none')],
      [t('position'), positionText(report)],
    ]),
    status.element,
    h(
      'div',
      {},
      button(t(word), () => void end(), 'bad'),
    ),
    h('h2', {}, t('historyDay')),
    table(
      t('historyDay'),
      [t('at'), t('ready'), t('backlog'), t('freeDisk'), t('doctorLine'), t('position')],
      reports.map(({ at, report: then }) => [
        formatTime(at),
        badge(then.ready ? t('ready') : t('notReady'), then.ready ? 'good' : 'bad'),
        backlogText(then),
        formatBytes(then.disk_free_bytes),
        prose(then.doctor ?? ''),
        positionText(then),
      ]),
    ),
  ]
}
