import { fill, h } from '../core/dom.js'
import { formatTime, t, type Word } from '../core/i18n.js'
import { badge, button, confirmed, copyButton, field, select, statusLine, table } from '../core/parts.js'
import { call } from '../core/rpc.js'
import type { Act } from './gateways.js'
import type { Profile, Token } from './read.js'

const DAY_S = 86_400

const STATES: Record<Token['state'], { word: Word; kind: string }> = {
  active: { word: 'stateActive', kind: 'good' },
  used_up: { word: 'stateUsedUp', kind: '' },
  expired: { word: 'stateExpired', kind: '' },
  revoked: { word: 'revokedState', kind: 'bad' },
}

/** Tokens of a hub, each valid one with the button that revokes it. */
export function tokenTable(tokens: readonly Token[], act: Act): HTMLElement {
  const revoke = async (token: string) => {
    if (await confirmed(t('revokeTokenSure'), t('revoke'))) await act('fleet.revoke_token', { token })
  }
  return table(
    t('tokens'),
    [t('nodeId'), t('profile'), t('state'), t('tokenUsed'), t('expires'), t('actions')],
    tokens.map(({ token, profile, state, uses, max_uses, expires_at }) => [
      h('span', { class: 'mono' }, token.slice(0, 8)),
      profile,
      badge(t(STATES[state].word), STATES[state].kind),
      t('usedOf', { n: uses, m: max_uses }),
      formatTime(expires_at),
      state === 'revoked'
        ? ''
        : button(t('revoke'), () => void revoke(token), 'small bad', {
            'aria-label': `${t('revoke')} ${token.slice(0, 8)}`,
          }),
    ]),
    t('tokensNone'),
  )
}

/** Form that makes a token, and shows it once. @param done called when one is made */
export function newToken(profiles: readonly Profile[], done: () => Promise<void>): HTMLElement {
  const profile = select(profiles.map(({ name }) => [name, name] as const))
  const uses = h('input', { type: 'number', min: 1, max: 100_000, value: 1, required: true })
  const days = h('input', { type: 'number', min: 1, max: 3650, value: 7, required: true })
  const status = statusLine()
  const made = h('div', { class: 'stack tight', role: 'status' })
  const onsubmit = async (event: Event) => {
    event.preventDefault()
    const params = {
      ...{ profile: profile.value, uses: Number(uses.value) },
      expires_in_s: Number(days.value) * DAY_S,
    }
    try {
      const { text } = await call<{ text: string }>('fleet.create_token', params)
      fill(made, madeToken(text))
      status.say('')
      await done()
    } catch (error) {
      status.bad(error)
    }
  }
  const fields = [field(t('profile'), profile), field(t('tokenUses'), uses), field(t('validDays'), days)]
  return h(
    'details',
    { class: 'card' },
    h('summary', {}, t('newToken')),
    h(
      'form',
      { class: 'stack', onsubmit },
      h('div', { class: 'grid' }, fields),
      status.element,
      h('div', {}, h('button', { class: 'button main' }, t('create'))),
      made,
    ),
  )
}

function madeToken(text: string): HTMLElement[] {
  const command = `fieldgate join ${location.origin} --token ${text}`
  const shown = (label: string, content: string) =>
    h(
      'div',
      { class: 'stack tight' },
      h('h3', {}, label),
      h('pre', { tabindex: 0, 'aria-label': label }, content),
      h(
        'div',
        {},
        copyButton(() => content),
      ),
    )
  return [h('p', {}, t('tokenOnce')), shown(t('joinCommand'), command), shown(t('token'), text)]
}
