import { fill, h } from '../core/dom.js'
import { t } from '../core/i18n.js'
import { type Page, repeat } from '../core/page.js'
import { badge, loaded, showFault, statusLine, waitingBox } from '../core/parts.js'
import { call, isFault } from '../core/rpc.js'
import { profileEditor, versionsView } from '../fleet/editor.js'
import { gatewayList } from '../fleet/gateway-list.js'
import { oneGateway } from '../fleet/gateways.js'
import { membershipSection } from '../fleet/membership.js'
import { newProfile, profileTable, rolloutBadge } from '../fleet/profiles.js'
import type { GatewayHistory, Profile, Rollout } from '../fleet/read.js'
import { readHub } from '../fleet/read.js'
import { newToken, tokenTable } from '../fleet/tokens.js'

const EVERY_MS = 5000
/** Roll-outs are computed from all gateways of a profile. */
const ROLLOUTS_MS = 15_000

/** The fleet, one gateway of it, or one profile, as the address names it. */
export function fleetPage([what, name]: readonly string[]): Page {
  if (what === 'gateway' && name !== undefined) return gatewayPage(name)
  if (what === 'profile' && name !== undefined) return profilePage(name)
  const own = membershipSection()
  const hub = hubSection()
  const element = h(
    'div',
    { class: 'stack' },
    h('h1', {}, t('navFleet')),
    h('p', { class: 'soft' }, t('fleetIntro')),
    h('p', { class: 'soft small' }, t('liveEvery', { n: EVERY_MS / 1000 })),
    own.element,
    hub.element,
  )
  const refresh = async () => {
    await Promise.all([own.refresh(), hub.refresh()])
  }
  const stop = repeat(EVERY_MS, refresh)
  const close = () => {
    stop()
    hub.close()
  }
  return { title: t('navFleet'), element, close }
}

/** Gateways, tokens and profiles of this hub. A gateway that is none has the form of the first profile only. */
function hubSection() {
  const status = statusLine()
  const [tokens, token, profiles] = [h('div', { class: 'stack' }), h('div'), waitingBox()]
  const list = gatewayList()
  const gateways = h('div', { class: 'stack', hidden: true }, h('h2', {}, t('hubGateways')), list.element)
  const fault = h('div')
  let [shown, names, rolloutsAtMs] = ['', '', 0]
  const refresh = async () => {
    try {
      const hub = await readHub()
      const isHub = hub.profiles.length > 0
      fill(fault)
      gateways.hidden = !isHub
      if (isHub) await list.refresh(hub.profiles)
      const now = JSON.stringify([hub.tokens, hub.profiles])
      if (now !== shown || Date.now() - rolloutsAtMs > ROLLOUTS_MS) {
        rolloutsAtMs = Date.now()
        fill(profiles, await profileTable(hub.profiles))
      }
      if (now === shown) return
      fill(tokens, isHub && [h('h2', {}, t('tokens')), tokenTable(hub.tokens, act)])
      const known = JSON.stringify(hub.profiles.map(({ name }) => name))
      if (known !== names) fill(token, isHub && newToken(hub.profiles, refresh))
      names = known
      shown = now
    } catch (error) {
      if (shown === '') fill(profiles)
      shown = showFault(fault, error, shown, refresh)
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
  const parts = [
    ...[fault, gateways, h('h2', {}, t('profiles')), profiles, newProfile()],
    ...[status.element, tokens, token],
  ]
  const element = h('section', { class: 'stack', 'aria-label': t('hub') }, parts)
  return { element, refresh, close: list.close }
}

function backLink(): HTMLElement {
  return h('p', {}, h('a', { href: '#/fleet' }, `← ${t('backToFleet')}`))
}

function gatewayPage(node: string): Page {
  const status = statusLine()
  const title = h('h1', {}, t('hubGateways'))
  const box = h('div')
  const show = () => {
    const content = loaded(async () => {
      const [gateway, profiles] = await Promise.all([
        call<GatewayHistory>('fleet.get_gateway', { node }),
        call<Profile[]>('fleet.list_profiles', {}),
      ])
      fill(title, gateway.name)
      return h('div', { class: 'stack' }, oneGateway(gateway, profiles, act, status))
    })
    fill(box, content)
  }
  const act = async (method: string, params: object) => {
    try {
      await call(method, params)
      status.say('')
    } catch (error) {
      return status.bad(error)
    }
    if (method === 'fleet.forget') location.hash = '#/fleet'
    else show()
  }
  show()
  return { title: t('hubGateways'), element: h('div', { class: 'stack' }, backLink(), title, box) }
}

function profilePage(name: string): Page {
  const status = statusLine()
  const box = h('div')
  const show = () => fill(box, loaded(read))
  const read = async () => {
    const profile = await findProfile(name)
    const saved = (text: string) => {
      status.good(text)
      show()
    }
    if (profile === undefined) return [profileEditor(name, undefined, saved)]
    const rollout = await call<Rollout>('fleet.get_rollout', { name })
    return [
      h('p', {}, badge(`${t('versionWord')} ${profile.version}`, 'accent'), ' ', rolloutBadge(rollout)),
      profileEditor(name, profile, saved),
      h('details', {}, h('summary', {}, t('olderVersion')), versionsView(name, profile.version)),
    ]
  }
  show()
  const heading = h('h1', {}, `${t('profile')} ${name}`)
  return { title: name, element: h('div', { class: 'stack' }, backLink(), heading, status.element, box) }
}

/** Reads the newest version of a profile. @returns undefined for a new name */
async function findProfile(name: string): Promise<Profile | undefined> {
  try {
    return await call<Profile>('fleet.get_profile', { name })
  } catch (error) {
    if (isFault(error) && error.faultName === 'UNKNOWN_PROFILE') return undefined
    throw error
  }
}
