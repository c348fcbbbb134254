import type { BadCalls, Standing } from './types.js'

const TOKEN = `00000000-0000-4000-8000-000000000000.fgs_${'a'.repeat(51)}`
const NOBODY = '00000000-0000-4000-8000-000000000000'

/** The profile `field` has one version, and the fleet no gateway. */
export function fleetBadCalls({ nodeId }: Standing): BadCalls {
  const request = {
    ...{ node: NOBODY, name: 'van', secret_sha256: '0'.repeat(64), signature: 'A'.repeat(86) },
    ...{ signing_key: `${'A'.repeat(42)}A`, exchange_key: `${'A'.repeat(42)}A` },
  }
  const report = {
    ...{ version: '1', uptime_s: 0, disk_free_bytes: 0, clock_us: 0, clock_trusted: true, ready: true },
    ...{ parts: [], backlog: { rows: 0, models: 0, bytes: 0, oldest_s: null }, doctor: null, position: null },
  }
  const profile = { applied: null, tried: null, outcome: null, reason: null, items: [] }
  const ofGateway: BadCalls[string] = [
    [{ node: 'x' }, 'INVALID_PARAMS', /\$\.node/],
    [{ node: NOBODY }, 'UNKNOWN_GATEWAY', /0000/],
  ]
  return {
    'fleet.create_token': [
      [{ profile: 'nobody' }, 'UNKNOWN_PROFILE', /nobody/],
      [{ profile: 'field', uses: 0 }, 'INVALID_PARAMS', /\$\.uses/],
      [{ profile: 'field', expires_in_s: 0 }, 'INVALID_PARAMS', /\$\.expires_in_s/],
    ],
    'fleet.list_tokens': [],
    'fleet.revoke_token': [
      [{ token: 'x' }, 'INVALID_PARAMS', /\$\.token/],
      [{ token: NOBODY }, 'UNKNOWN_TOKEN', /0000/],
    ],
    'fleet.set_profile': [
      [{ name: 'a b', profile: {} }, 'INVALID_PARAMS', /\$\.name/],
      [{ name: 'field', profile: { upp: [] } }, 'INVALID_PARAMS', /\$\.profile.*upp/],
      [
        { name: 'field', profile: { up: [{ table: 'x' }, { table: 'x' }] } },
        'INVALID_PARAMS',
        /up\[1\]\.table/,
      ],
      [{ name: 'field', profile: { settings: { 'server.port': 1 } } }, 'INVALID_PARAMS', /server\.port/],
      [{ name: 'field', profile: {}, base: 7 }, 'PROFILE_CHANGED', /is 1, expected 7/],
      [
        { name: 'field', profile: { releases: { 'linux-mips': {} } } },
        'INVALID_PARAMS',
        /\$\.profile.*linux-mips/,
      ],
      [
        {
          name: 'field',
          profile: {
            releases: { 'linux-x64': { version: '1.0.0', digest: 'ab'.repeat(32), signature: 'x' } },
          },
        },
        'BAD_SIGNATURE',
        /releases\.linux-x64\.signature: expected the lines of fieldgate-release-1/,
      ],
      [{ name: 'field', profile: { maps: { 'a/b': 'ab'.repeat(32) } } }, 'INVALID_PARAMS', /maps/],
      [{ name: 'field', profile: { maps: { town: 'AB' } } }, 'INVALID_PARAMS', /maps\.town.*64 hex/],
      [
        { name: 'field', profile: { maps: { town: 'ab'.repeat(32) } } },
        'UNKNOWN_DIGEST',
        /maps\.town: found the digest abab.*expected that of a file/,
      ],
    ],
    'fleet.get_profile': [
      [{ name: 'nobody' }, 'UNKNOWN_PROFILE', /nobody/],
      [{ name: 'field', version: 9 }, 'UNKNOWN_PROFILE', /no version 9/],
    ],
    'fleet.list_profiles': [],
    'fleet.diff_profile': [
      [{ name: 'nobody' }, 'UNKNOWN_PROFILE', /nobody/],
      [{ name: 'field', from: 8 }, 'UNKNOWN_PROFILE', /no version 8/],
    ],
    'fleet.get_rollout': [[{ name: 'nobody' }, 'UNKNOWN_PROFILE', /nobody/]],
    'fleet.list_gateways': [
      [{ order: 'age' }, 'INVALID_PARAMS', /\$\.order/],
      [{ trouble: ['tired'] }, 'INVALID_PARAMS', /\$\.trouble\[0\]/],
      [{ offset: -1 }, 'INVALID_PARAMS', /\$\.offset/],
    ],
    'fleet.count_gateways': [[{ profile: 'a b' }, 'INVALID_PARAMS', /\$\.profile/]],
    'fleet.list_positions': [[{ name: 7 }, 'INVALID_PARAMS', /\$\.name/]],
    'fleet.get_gateway': ofGateway,
    'fleet.revoke': ofGateway,
    'fleet.forget': ofGateway,
    'fleet.join': [
      [{ ...request, node: nodeId }, 'LOOP', /this gateway/],
      [{ ...request, name: '' }, 'INVALID_PARAMS', /\$\.name/],
      [request, 'BAD_SIGNATURE', /signature/],
    ],
    'fleet.report': [
      [{ report, profile }, 'FORBIDDEN', /no gateway of this fleet/],
      [{ report: { ...report, parts: 'x' }, profile }, 'INVALID_PARAMS', /\$\.report\.parts/],
    ],
    'fleet.leave': [],
    'fleet.get_membership': [],
    'fleet.check_profile': [
      [{ name: 'a b', profile: {} }, 'INVALID_PARAMS', /\$\.name/],
      [{ name: 'field', profile: { up: [{ table: 7 }] } }, 'INVALID_PARAMS', /\$\.profile\.up\[0\]\.table/],
    ],
    'fleet.join_hub': [
      [
        { hub: 'https://hub', token: `${TOKEN}secret`, name: 'van' },
        'INVALID_PARAMS',
        /\$\.token: found \d+ characters of another form, expected what .fieldgate fleet token/,
      ],
      [{ hub: 'https://hub', token: 5, name: 'van' }, 'INVALID_PARAMS', /\$\.token: found no text/],
      [{ hub: 'hub', token: TOKEN, name: 'van' }, 'BAD_ENDPOINT', /found hub/],
      [{ hub: 'https://hub', token: TOKEN, name: '' }, 'INVALID_PARAMS', /\$\.name/],
    ],
    'fleet.leave_hub': [
      [{}, 'NOT_JOINED', /no member/],
      [{ force: 1 }, 'INVALID_PARAMS', /\$\.force/],
    ],
  }
}
