import type { Applicant } from '../../fleet/hub/join-gateway.js'
import type { LeftHub } from '../../fleet/member/leave-hub.js'
import type { HubContact } from '../../storage/exchange/contact.js'
import type {
  FleetFiles,
  FleetMember,
  FleetMembers,
  FleetProfiles,
  JoinTokens,
  ProfileVersion,
} from '../../storage/exchange/fleet.js'
import type { FleetOverview } from '../../storage/exchange/fleet-overview.js'
import type { HubIdentity, Membership, MembershipStore } from '../../storage/exchange/membership.js'
import type { TrustedClock } from '../../storage/work/clock.js'
import type { CallContext, SharedContext } from '../context.js'

/** Context of the methods of the fleet. */
export type FleetContext = Pick<CallContext, 'caller'> &
  Pick<SharedContext, 'timeZoneMin' | 'newId'> & {
    readonly clock: TrustedClock
    readonly fleetTokens: JoinTokens
    readonly fleetMembers: FleetMembers & FleetOverview
    readonly fleetProfiles: FleetProfiles
    readonly fleetFiles: Pick<FleetFiles, 'find'>
    readonly membership: Pick<MembershipStore, 'find'>
    /** Reads the last answer of the hub; null for none since this gateway joined. */
    hubContact(membership: Pick<Membership, 'joinedAtUs'>): Promise<HubContact | null>
    /** Joins a hub. @throws AppError BAD_ENDPOINT and those of `joinHub` */
    joinHub(request: { hub: string; token: string; name: string }): Promise<unknown>
    /** Leaves the hub. @throws AppError of `leaveHub` */
    leaveHub(isForced: boolean): Promise<LeftHub>
    /** public identity of this gateway */
    identity(): Promise<HubIdentity>
    /** Takes a gateway into the fleet. @throws AppError of `joinGateway` */
    joinGateway(tokenKeyId: string, applicant: Applicant): Promise<FleetMember>
    /** Returns the version that a gateway is to have. */
    assignProfile(member: FleetMember): Promise<ProfileVersion>
  }

/** The same on a hub that joins no other. */
export type HubFleetContext = Omit<FleetContext, 'joinHub' | 'leaveHub'>
