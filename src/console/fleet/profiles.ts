import { h } from '../core/dom.js'
import { formatTime, t } from '../core/i18n.js'
import { badge, field, table } from '../core/parts.js'
import { call } from '../core/rpc.js'
import type { Profile, Rollout } from './read.js'

/** Profiles of a hub, with the way of their newest versions to the gateways. @throws CallFault */
export async function profileTable(profiles: readonly Profile[]): Promise<HTMLElement> {
  const rollouts = await Promise.all(profiles.map(({ name }) => call<Rollout>('fleet.get_rollout', { name })))
  return table(
    t('profiles'),
    [t('name'), t('versionWord'), t('rollout'), t('changedAt'), t('changedBy')],
    profiles.map(({ name, version, created_at, created_by }, at) => [
      h('a', { href: `#/fleet/profile/${encodeURIComponent(name)}` }, name),
      String(version),
      rolloutBadge(rollouts[at]),
      formatTime(created_at),
      created_by ?? t('commandLine'),
    ]),
    t('profilesNone'),
  )
}

/** State of a roll-out. */
export function rolloutBadge(rollout: Rollout | undefined): HTMLElement | string {
  if (rollout === undefined) return ''
  const { state, gateways: m, applied: n, canaries, trouble } = rollout
  const values = { n, m, trouble, k: canaries.length }
  if (state === 'stopped') return badge(t('rolloutStopped', values), 'bad')
  if (state === 'canary') return badge(t('rolloutCanary', values), 'warn')
  return badge(t('rolloutAll', values), n === m ? 'good' : 'warn')
}

/** Form that leads to the editor of a profile that does not exist yet. */
export function newProfile(): HTMLElement {
  const name = h('input', { required: true, pattern: '[A-Za-z0-9][A-Za-z0-9._\\-]{0,62}', value: 'field' })
  const onsubmit = (event: Event) => {
    event.preventDefault()
    location.hash = `#/fleet/profile/${encodeURIComponent(name.value.trim())}`
  }
  return h(
    'form',
    { class: 'row end', onsubmit },
    field(t('profileName'), name),
    h('button', { class: 'button' }, t('newProfile')),
  )
}
