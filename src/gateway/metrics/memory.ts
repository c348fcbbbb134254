import type { BudgetFacts } from '../../http/byte-budget.js'
import type { Family } from '../../http/metrics.js'
import { counter, gauge } from './family.js'

/** Returns the families of the memory of requests. */
export function memoryFamilies({ usedBytes, waiting, refused }: BudgetFacts, totalBytes: number): Family[] {
  return [
    gauge('fieldgate_bytes_in_flight', 'Memory of request bodies and answers on their way', usedBytes),
    gauge('fieldgate_bytes_in_flight_limit', 'Limit of that memory (limits.bytesInFlight)', totalBytes),
    gauge('fieldgate_requests_waiting', 'Requests that wait for memory', waiting),
    counter(
      'fieldgate_requests_without_memory_total',
      'Requests refused because no memory was free',
      refused,
    ),
  ]
}
