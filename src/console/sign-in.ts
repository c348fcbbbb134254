import { appearance } from './appearance.js'
import { h } from './core/dom.js'
import { faultText } from './core/fault-text.js'
import { t } from './core/i18n.js'
import { field, select, statusLine } from './core/parts.js'
import { fault, isFault, readAnswer, rpcFault } from './core/rpc.js'
import { signedIn } from './core/session.js'

const HOUR_S = 3600
const SESSION_PATH = '/api/v1/session/jsonrpc'

/**
 * Sign-in page: opens a session with a key and its secret, which is not stored.
 *
 * @param hasEnded the session before is over
 */
export function signInPage(hasEnded: boolean) {
  const keyId = h('input', { name: 'key', required: true, autocomplete: 'username', spellcheck: 'false' })
  const secret = h('input', {
    name: 'secret',
    type: 'password',
    required: true,
    autocomplete: 'current-password',
  })
  const life = select(
    [
      [String(HOUR_S), t('hours1')],
      [String(12 * HOUR_S), t('hours12')],
      [String(720 * HOUR_S), t('days30')],
    ],
    String(12 * HOUR_S),
  )
  const status = statusLine()
  if (hasEnded) status.say(t('sessionEnded'), 'warn')
  if (linkFault !== undefined) status.bad(linkFault)
  linkFault = undefined
  const submit = h('button', { class: 'button main' }, t('signIn'))
  const onsubmit = async (event: Event) => {
    event.preventDefault()
    submit.disabled = true
    try {
      await open(keyId.value.trim(), secret.value.trim(), Number(life.value))
    } catch (error) {
      status.bad(isFault(error) && error.status === 401 ? t('wrongKey') : error)
      submit.disabled = false
    }
  }
  const form = h(
    'form',
    { class: 'card', onsubmit },
    h('h1', {}, t('signInTitle')),
    h('p', { class: 'soft' }, t('signInHint')),
    field(t('apiKey'), keyId),
    field(t('secret'), secret),
    field(t('stayFor'), life),
    status.element,
    submit,
    appearance(),
  )
  return {
    element: h('main', { class: 'sign-in' }, form),
    focus: () => keyId.focus(),
    close: () => undefined,
  }
}

/** Fault of the link through which the page was opened. */
let linkFault: string | undefined

/**
 * Signs in by the code of a one-time link, `#sign-in=CODE`, which is taken out of the address first. The sign-in page
 * shows a fault.
 */
export async function signInByLink(): Promise<void> {
  const code = /^#sign-in=([\w-]+)$/.exec(location.hash)?.[1]
  if (code === undefined) return
  history.replaceState(null, '', `${location.pathname}#/`)
  try {
    const response = await fetch('/console/sign-in', {
      method: 'POST',
      credentials: 'omit',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ code }),
    })
    const { result, error } = await readAnswer(response)
    if (error !== undefined) throw rpcFault(response.status, error)
    const { access_token, api_key, expires_in } = result as {
      access_token: string
      api_key: string
      expires_in: number
    }
    signedIn({ token: access_token, keyId: api_key, endsAtMs: Date.now() + expires_in * 1000 })
  } catch (error) {
    linkFault = isFault(error) && error.status === 404 ? t('linkUsed') : faultText(error)
  }
}

async function open(keyId: string, secret: string, lifeS: number): Promise<void> {
  let response: Response
  try {
    response = await fetch(SESSION_PATH, {
      method: 'POST',
      credentials: 'omit',
      headers: { 'Content-Type': 'application/json', APIKey: keyId, Secret: secret },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'session.open_session',
        params: { expires_in: lifeS },
      }),
    })
  } catch {
    throw fault('NETWORK', 0, 'The gateway cannot be reached')
  }
  const { result, error } = await readAnswer(response)
  if (error !== undefined) throw rpcFault(response.status, error)
  const { access_token, expires_in } = result as { access_token: string; expires_in: number }
  signedIn({ token: access_token, keyId, endsAtMs: Date.now() + expires_in * 1000 })
}
