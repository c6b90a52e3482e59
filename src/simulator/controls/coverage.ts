// Which rows of the provider's contract were exercised, and how often. Every row is listed, so that a zero shows what
// no test has touched. Counting is one addition; what counts as a row is decided where the row is served.

/** Row → what the contract says there. */
export const CONTRACT_ROWS = {
  'catalog-application': 'Catalog in the application context: the links that lead to authorization',
  'catalog-user': 'Catalog in the context of a user token: the links that lead to data',
  'oauth1-request-token': 'A request token, signed with client key and secret, with a callback',
  'oauth1-access-token': 'A request token and its verifier traded for an access token',
  'oauth1-flow-post': 'The request token call by POST',
  'oauth1-consent': 'The user approves a request token',
  'oauth1-declined': 'The user declines a request token',
  'oauth1-oob': 'Token and verifier shown to be copied, for the callback oob',
  'credentials-missing': 'A request without readable credentials: refused',
  'oauth1-signed': 'A request with a valid OAuth 1.0 HMAC-SHA1 signature',
  'oauth1-refused': 'A request whose OAuth 1.0 parameters or signature were refused',
  'oauth1-ended': 'OAuth 1 refused because it has ended',
  'bearer-accepted': 'A request with a valid OAuth 2 bearer token',
  'bearer-refused': 'A request whose bearer token was refused',
  'oauth2-discovery': 'The OAuth 2 server describes itself',
  'oauth2-consent': 'The user approves at the authorization endpoint',
  'oauth2-declined': 'The user declines at the authorization endpoint: access_denied',
  'oauth2-code': 'An authorization code and its PKCE verifier traded for tokens',
  'oauth2-client-basic': 'Client authentication by HTTP Basic',
  'oauth2-client-post': 'Client authentication in the body',
  'oauth2-refresh-refused': 'A refresh token that is unknown, ended or revoked: invalid_grant',
  'oauth2-refresh-reused': 'A rotated refresh token shown again: its family is revoked',
  'oauth2-revocation': 'A token revoked by the client',
  'scope-missing': 'A scope or licence that is missing: 403 that names it',
  'oauth2-refresh': 'A refresh token traded for an access token',
  'oauth2-client-credentials': 'An access token for the application itself',
  'accept-refused': 'A request without the media type of its API in Accept',
  'paging-default': 'A list of the platform without paging parameters: 10 records',
  'paging-new': 'A list with pageOffset or itemLimit',
  'paging-off': 'A list with x-<vendor>-no-paging: true',
  'paging-old-ignored': 'The old paging forms before June 1, 2024: not honoured, default page',
  'paging-old-refused': 'The old paging forms from June 1, 2024 on: refused',
  'organizations-list': 'GET organizations',
  'organization-get': 'GET one organization',
  'organization-terms':
    'An organization that has not accepted its terms: 403 with the warning and where to accept',
  'organization-not-connected': 'An organization that is not connected to the client: 403',
  'files-list': 'GET files',
  'files-of-organization': 'GET the files of an organization',
  'file-get': 'GET the record of a file',
  'file-download': 'GET the bytes of a file',
  'file-range': 'GET a range of the bytes of a file: 206',
  'file-range-refused': 'A range behind the end of a file: 416',
  'file-unchanged': 'A file whose ETag is known: 304',
  'fields-list': 'GET the fields of an organization',
  'field-get': 'GET one field',
  'field-boundaries': 'GET the boundaries of a field',
  'field-operations-list': 'GET the operations of a field',
  'field-operations-of-organization': 'GET the operations of an organization, where a setting serves them',
  'change-token-first': 'A list with a first change token: the whole list, unpaged',
  'change-token-changes': 'A list since a change token: only what changed or is gone',
  'change-token-unchanged': 'A list in which nothing changed since the token: 304',
  'field-operation-get': 'GET one field operation',
  'field-operation-embed': 'embed=measurementTypes adds the measurement types',
  'measurement-types-list': 'GET the measurement types of an operation',
  'measurement-type-get': 'GET one measurement type of an operation',
  'fields-old': 'Before the announcement: product and productTotals only',
  'fields-both': 'Between announcement and July 10, 2024: old and new fields, one entry',
  'fields-new': 'From July 10, 2024: products and applicationProductTotals only, several entries',
  'units-english': 'Accept-UOM-System: ENGLISH',
  'equipment-list-organizations': 'GET equipment by organizationIds',
  'equipment-list-ids': 'GET equipment by ids',
  'equipment-list-serials': 'GET equipment by serialNumbers',
  'equipment-list-category': 'The secondary filter category of machine or implement',
  'equipment-list-archived': 'The filter archived',
  'equipment-get': 'GET one piece of equipment',
  'equipment-embed': 'Connected devices and paired equipment embedded in a record',
  'equipment-create': 'POST equipment into an organization',
  'equipment-create-no-serial': 'Equipment created without a serial number',
  'equipment-update': 'PUT equipment',
  'equipment-delete': 'DELETE equipment that a client created',
  'equipment-invalid': 'A body of equipment that is refused, every problem named',
  'machines-list': 'GET the machines of an organization (old)',
  'machine-get': 'GET one machine (old)',
  'implements-list': 'GET the implements of an organization (old)',
  'implement-get': 'GET one implement (old)',
  'equipment-old-deprecated': 'From January 2025: an old endpoint says that it is deprecated',
  'equipment-makes': 'GET equipmentMakes',
  'equipment-types': 'GET equipmentTypes',
  'equipment-models': 'GET equipmentModels',
  'webhook-verification': 'A subscriptionVerification delivery that was accepted',
  'webhook-verification-refused': 'A subscriptionVerification that was not accepted: nothing becomes active',
  'webhook-expired': 'A subscription that expired because deliveries kept failing',
  'subscription-create': 'POST eventSubscriptions',
  'subscriptions-list': 'GET eventSubscriptions',
  'subscription-get': 'GET one subscription',
  'subscription-renew': 'PUT status Active: an expired subscription is renewed',
  'subscription-change': 'PUT of what may be changed in a subscription',
  'subscription-end': 'PUT status Terminated: a subscription ends',
  'subscription-delete-refused': 'DELETE of a subscription: 403',
  'delivery-get': 'GET eventSubscriptionDelivery',
  'delivery-change': 'PATCH eventSubscriptionDelivery',
  'webhook-heartbeat': 'A heartbeat delivery that was accepted',
  'webhook-event': 'A delivery with events that was accepted',
  'webhook-again': 'A delivery that was not accepted and is sent again',
} as const;

export type ContractRow = keyof typeof CONTRACT_ROWS;

export class Coverage {
  readonly #counts = Object.fromEntries(Object.keys(CONTRACT_ROWS).map((row) => [row, 0])) as Record<
    ContractRow,
    number
  >;

  count(row: ContractRow): void {
    this.#counts[row] += 1;
  }

  /** Every row with its sentence and its count. */
  list(): { row: ContractRow; text: string; count: number }[] {
    return (Object.keys(CONTRACT_ROWS) as ContractRow[]).map((row) => ({
      row,
      text: CONTRACT_ROWS[row],
      count: this.#counts[row],
    }));
  }
}
