import { fill, h } from '../core/dom.js'
import { formatTime, t } from '../core/i18n.js'
import type { Page } from '../core/page.js'
import {
  badge,
  button,
  copyButton,
  facts as factList,
  field,
  loaded,
  statusLine,
  table,
} from '../core/parts.js'
import { call } from '../core/rpc.js'
import { facts, session, signedOut } from '../core/session.js'

const HOUR_S = 3600

/** Page of sessions. API keys are managed on the command line only, so it lists those commands. */
export function sessionsPage(): Page {
  const open = session()
  const element = h(
    'div',
    { class: 'stack' },
    h('h1', {}, t('navSessions')),
    h('p', { class: 'soft' }, t('sessionsIntro')),
    h(
      'div',
      { class: 'card' },
      h('h2', {}, t('yourSession')),
      factList([
        [t('apiKey'), h('span', { class: 'mono' }, open?.keyId ?? '')],
        [t('sessionEnds'), formatTime(open?.endsAtMs)],
        [t('sessionHeader'), h('span', { class: 'mono' }, facts().tokenHeader)],
      ]),
    ),
    h('h2', {}, t('openSessions')),
    h('p', { class: 'soft' }, t('openSessionsHint')),
    sessionList(),
    h('div', { class: 'card' }, h('h2', {}, t('openAnother')), openForm()),
    h('div', { class: 'card' }, h('h2', {}, t('checkToken')), tokenForm()),
    h('h2', {}, t('keysTitle')),
    h('p', { class: 'soft' }, t('keysHint')),
    table(
      t('keysTitle'),
      [t('command'), t('copy')],
      [
        'fieldgate key create --name van-7 --scope loader:write --scope route:read',
        'fieldgate key list',
        'fieldgate key rotate KEY --overlap 24h',
        'fieldgate key revoke KEY',
        'fieldgate session list',
        'fieldgate session end SESSION',
      ].map((line) => [h('code', {}, line), copyButton(() => line)]),
    ),
  )
  return { title: t('navSessions'), element }
}

interface SessionInfo {
  session_id: string
  created_at: string
  last_used_at: string
  expires_at: string
  is_current: boolean
}

/** Open sessions of the key, each with a button that ends it. */
function sessionList(): HTMLElement {
  const box = h('div', {})
  const status = statusLine()
  const show = () => fill(box, loaded(read))
  const end = async ({ session_id, is_current }: SessionInfo) => {
    try {
      await call('session.end_session', { session_id })
      if (is_current) return signedOut('signed-out')
      status.good(t('tokenClosed'))
      show()
    } catch (error) {
      status.bad(error)
    }
  }
  const read = async () => {
    const open = await call<SessionInfo[]>('session.list_sessions', {})
    return table(
      t('openSessions'),
      [t('sessionId'), t('created'), t('lastUsed'), t('sessionEnds'), t('actions')],
      open.map((one) => [
        h('span', { class: 'mono' }, one.session_id),
        formatTime(one.created_at),
        one.is_current ? badge(t('yourSession'), 'accent') : formatTime(one.last_used_at),
        formatTime(one.expires_at),
        button(t('closeToken'), () => end(one), 'small bad', {
          'aria-label': `${t('closeToken')} ${one.session_id}`,
        }),
      ]),
    )
  }
  show()
  return h('div', { class: 'stack tight' }, status.element, box)
}

function openForm(): HTMLElement {
  const life = h('input', { type: 'number', min: 1, max: 8760, value: '12', required: true })
  const token = h('pre', { hidden: true })
  const status = statusLine()
  const copy = copyButton(() => token.textContent ?? '')
  copy.hidden = true
  const onsubmit = async (event: Event) => {
    event.preventDefault()
    try {
      const made = await call<{ access_token: string; expires_in: number }>('session.open_session', {
        expires_in: Number(life.value) * HOUR_S,
      })
      token.textContent = made.access_token
      token.hidden = false
      copy.hidden = false
      status.good(`${t('sessionEnds')}: ${formatTime(Date.now() + made.expires_in * 1000)}`)
    } catch (error) {
      status.bad(error)
    }
  }
  return h(
    'form',
    { class: 'stack tight', onsubmit },
    h('p', { class: 'soft small' }, t('openAnotherHint')),
    h(
      'div',
      { class: 'row end' },
      field(t('lifeHours'), life),
      h('button', { class: 'button' }, t('openSession')),
    ),
    status.element,
    token,
    h('div', {}, copy),
  )
}

function tokenForm(): HTMLElement {
  const token = h('input', { required: true, spellcheck: 'false', autocomplete: 'off' })
  const status = statusLine()
  const check = async () => {
    try {
      const { active } = await call<{ active: boolean }>('session.verify_session_token', {
        token: token.value.trim(),
      })
      if (active) status.good(t('tokenActive'))
      else status.say(t('tokenInactive'), 'warn')
    } catch (error) {
      status.bad(error)
    }
  }
  const close = async () => {
    try {
      await call('session.close_session', { token: token.value.trim() })
      status.good(t('tokenClosed'))
    } catch (error) {
      status.bad(error)
    }
  }
  const onsubmit = (event: Event) => {
    event.preventDefault()
    void check()
  }
  return h(
    'form',
    { class: 'stack tight', onsubmit },
    field(t('token'), token),
    h(
      'div',
      { class: 'row' },
      h('button', { class: 'button' }, t('check')),
      button(t('closeToken'), close, 'bad'),
    ),
    status.element,
  )
}
