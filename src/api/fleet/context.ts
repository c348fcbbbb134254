import type { Applicant } from '../../fleet/hub/join-gateway.js'
import type { TrustedClock } from '../../storage/clock.js'
import type {
  FleetFiles,
  FleetMember,
  FleetMembers,
  FleetProfiles,
  JoinTokens,
  ProfileVersion,
} from '../../storage/exchange/fleet.js'
import type { HubIdentity, MembershipStore } from '../../storage/exchange/membership.js'
import type { CallContext, SharedContext } from '../context.js'

/** Context of the methods of the fleet. */
export type FleetContext = Pick<CallContext, 'caller'> &
  Pick<SharedContext, 'timeZoneMin' | 'newId'> & {
    readonly clock: TrustedClock
    readonly fleetTokens: JoinTokens
    readonly fleetMembers: FleetMembers
    readonly fleetProfiles: FleetProfiles
    readonly fleetFiles: Pick<FleetFiles, 'find'>
    readonly membership: MembershipStore
    /** public identity of this gateway */
    identity(): Promise<HubIdentity>
    /** Takes a gateway into the fleet. @throws AppError of `joinGateway` */
    joinGateway(tokenKeyId: string, applicant: Applicant): Promise<FleetMember>
    /** Returns the version that a gateway is to have. */
    assignProfile(member: FleetMember): Promise<ProfileVersion>
  }
