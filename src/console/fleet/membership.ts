import { fill, h } from '../core/dom.js'
import { faultText } from '../core/fault-text.js'
import { formatTime, t, type Word } from '../core/i18n.js'
import {
  badge,
  button,
  confirmed,
  facts,
  field,
  prose,
  showFault,
  statusLine,
  table,
  waitingBox,
} from '../core/parts.js'
import { call, isFault } from '../core/rpc.js'
import type { Membership, ProfileItem } from './read.js'

const STATES: Record<Membership['state'], { word: Word; kind: string }> = {
  joining: { word: 'joiningState', kind: 'warn' },
  member: { word: 'memberState', kind: 'good' },
  refused: { word: 'refusedState', kind: 'bad' },
  left: { word: 'leftState', kind: '' },
}

const ITEMS: Record<ProfileItem['state'], { word: Word; kind: string }> = {
  applied: { word: 'itemApplied', kind: 'good' },
  waiting: { word: 'itemWaiting', kind: 'warn' },
  refused: { word: 'itemRefused', kind: 'bad' },
  staged: { word: 'itemStaged', kind: 'warn' },
  rolled_back: { word: 'itemRolledBack', kind: 'bad' },
}

/** Membership of this gateway: what it is, a form to join, and the button to leave. */
export function membershipSection() {
  const status = statusLine()
  const box = waitingBox()
  const form = h('div', {})
  let shown = ''
  let formFor: boolean | undefined
  const refresh = async () => {
    try {
      const found = await call<Membership | null>('fleet.get_membership', {})
      const now = JSON.stringify(found)
      // unchanged parts are left alone, so that a screen reader keeps its position, and a form its input
      if (now === shown) return
      shown = now
      const isMember = found !== null && found.state !== 'left' && found.state !== 'joining'
      fill(box, found === null ? h('p', {}, t('notJoined')) : membershipOf(found, leave))
      const mayJoin = !isMember || found?.state === 'refused'
      if (formFor !== mayJoin) fill(form, mayJoin && joinForm(found, refresh))
      formFor = mayJoin
    } catch (error) {
      shown = showFault(box, error, shown, refresh)
    }
  }
  const leave = async (hub: string) => {
    if (!(await confirmed(t('leaveSure', { hub }), t('leaveHub')))) return
    try {
      await leaveOrForce()
      status.say('')
    } catch (error) {
      status.bad(error)
    }
    await refresh()
  }
  const element = h(
    'section',
    { class: 'stack', 'aria-label': t('ownMembership') },
    h('h2', {}, t('ownMembership')),
    status.element,
    box,
    form,
  )
  return { element, refresh }
}

/** Leaves; a hub that cannot be told is left after a second question. */
async function leaveOrForce(): Promise<void> {
  try {
    await call('fleet.leave_hub', {})
  } catch (error) {
    const isUntold = isFault(error) && /^UPSTREAM_/.test(error.faultName)
    if (!isUntold || !(await confirmed(t('leaveForceSure', { reason: faultText(error) }), t('leaveHub'))))
      throw error
    await call('fleet.leave_hub', { force: true })
  }
}

function membershipOf(found: Membership, leave: (hub: string) => Promise<void>): HTMLElement {
  const { hub, name, state, reason, joined_at, last_contact, profile, wanted, items, put_back } = found
  const has = state === 'member' || state === 'refused'
  const version = profile === null ? '–' : t('profileVersion', { name: profile.name, n: profile.version })
  const isBehind = has && wanted !== null && wanted !== profile?.version
  return h(
    'div',
    { class: 'stack' },
    facts([
      [t('state'), badge(t(STATES[state].word), STATES[state].kind)],
      [t('hub'), hub],
      [t('gatewayName'), name],
      [t('joinedAt'), formatTime(joined_at)],
      [t('lastContact'), formatTime(last_contact)],
      [t('profile'), isBehind ? `${version}. ${t('wantedVersion', { n: wanted })}` : version],
    ]),
    reason !== null && h('p', { class: 'notice bad' }, reason),
    put_back !== null &&
      h('p', { class: 'notice warn' }, t('putBack', { n: put_back.version, reason: put_back.reason })),
    has &&
      table(
        t('profileItems'),
        [t('item'), t('state'), t('reason')],
        items.map((each) => [
          each.item,
          badge(t(ITEMS[each.state].word), ITEMS[each.state].kind),
          prose(each.reason ?? ''),
        ]),
        t('itemsNone'),
      ),
    state !== 'left' &&
      h(
        'div',
        {},
        button(t('leaveHub'), () => void leave(hub), 'bad'),
      ),
  )
}

function joinForm(found: Membership | null, done: () => Promise<void>): HTMLElement {
  const hub = h('input', {
    required: true,
    type: 'url',
    placeholder: 'https://host',
    value: found?.hub ?? '',
  })
  const token = h('input', { required: true, type: 'password', autocomplete: 'off', spellcheck: 'false' })
  const name = h('input', { required: true, maxlength: 80, value: found?.name ?? '' })
  const status = statusLine()
  const submit = h('button', { class: 'button main' }, t('join'))
  const onsubmit = async (event: Event) => {
    event.preventDefault()
    submit.disabled = true
    const params = { hub: hub.value.trim(), token: token.value.trim(), name: name.value.trim() }
    try {
      await call('fleet.join_hub', params)
      token.value = ''
      status.say('')
    } catch (error) {
      status.bad(error)
    }
    submit.disabled = false
    await done()
  }
  const fields = [
    field(t('hubAddress'), hub),
    field(t('joinToken'), token, t('joinTokenHint')),
    field(t('gatewayName'), name),
  ]
  return h(
    'details',
    { class: 'card' },
    h('summary', {}, t('joinHub')),
    h(
      'form',
      { class: 'stack', onsubmit },
      h('div', { class: 'grid' }, fields),
      status.element,
      h('div', {}, submit),
    ),
  )
}
