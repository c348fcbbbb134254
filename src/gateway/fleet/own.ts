import type { FleetContext } from '../../api/fleet/index.js'
import type { Config } from '../../config/config.js'
import type { FleetAgent } from '../../fleet/member/agent.js'
import { createHubLink } from '../../fleet/member/hub-link.js'
import { joinHub } from '../../fleet/member/join-hub.js'
import { type LeaveDeps, leaveHub } from '../../fleet/member/leave-hub.js'
import { CONTACT, readContact } from '../../storage/exchange/contact.js'
import type { Membership } from '../../storage/exchange/membership.js'
import type { State } from '../../storage/state.js'
import { baseUrlOf } from '../../sync/endpoint.js'
import { createUpstreamClient } from '../../sync/http-client.js'
import { clientSettings } from '../../sync/open-outbox.js'
import type { FeedServices } from '../exchange/feeds.js'
import type { ModelServices } from '../exchange/models.js'
import type { ServicesOptions } from '../options.js'
import { joinDeps } from './fleet.js'

/** Longest wait for an answer of the hub, ms. */
const ANSWER_MS = 120_000

interface OwnOptions extends Pick<ServicesOptions, 'config' | 'version'> {
  readonly state: State
  readonly models: ModelServices
  readonly feeds: FeedServices
  readonly member: FleetAgent
}

/** Opens joining and leaving by calls of this gateway. */
export function openOwnMembership(
  options: OwnOptions,
): Pick<FleetContext, 'hubContact' | 'joinHub' | 'leaveHub'> {
  const { state, models, feeds, member, config, version } = options
  const onMembership = () => {
    void member.wake()
    void feeds.sender.wake()
  }
  return {
    hubContact: async (membership) => readContact(await state.meta.noted(CONTACT), membership),
    async joinHub({ hub, token, name }) {
      const request = { hubUrl: baseUrlOf(hub, config.sync.allowInsecure), token, name }
      const joining = await joinDeps(state, models.register.nodeId, config, version)
      await joinHub(joining, request, AbortSignal.timeout(ANSWER_MS))
      onMembership()
    },
    async leaveHub(isForced) {
      const deps = leaveDeps(state, config, version)
      const left = await leaveHub(deps, isForced, AbortSignal.timeout(ANSWER_MS))
      onMembership()
      return left
    },
  }
}

/** Returns what leaving needs; also for the command line beside a gateway. */
export function leaveDeps(state: State, config: Pick<Config, 'sync'>, version: string): LeaveDeps {
  const { membership, feeds, upstreams, modelStores } = state
  const connect = (of: Membership) => linkOf(of, config, version)
  return { membership, feeds, upstreams, modelStores, connect }
}

/** Returns the link of a member to its hub. @throws AppError BAD_ENDPOINT */
function linkOf({ hubUrl, apiKey, secret }: Membership, { sync }: Pick<Config, 'sync'>, version: string) {
  const credentials = { apikey: apiKey ?? '', secret: secret ?? '' }
  const url = baseUrlOf(hubUrl, sync.allowInsecure)
  return createHubLink(createUpstreamClient(url, credentials, clientSettings(sync, version)))
}
