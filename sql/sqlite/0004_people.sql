-- External ids, and prospects that were merged: see the same on PostgreSQL.
alter table prospect_logs add column external_id text;
alter table erasures add column external_id_hash text;
alter table erasures add column part_of text;
alter table prospects add column external_id text;
alter table prospects add column external_id_hash text;
alter table prospects add column merged_into text;

create unique index prospects_external_id on prospects (tenant_id, external_id_hash) where external_id_hash is not null;
create index prospects_merged on prospects (tenant_id, merged_into) where merged_into is not null;

create unique index erasures_of_external_id on erasures (tenant_id, external_id_hash, coalesce(prospect_id, ''))
  where external_id_hash is not null;
create index erasures_by_prospect on erasures (tenant_id, prospect_id) where prospect_id is not null;
create index erasures_blocking on erasures (tenant_id, block_id) where completed_at is null and block_id is not null;
create index erasures_parts on erasures (tenant_id, part_of) where part_of is not null;

create table merges (
  tenant_id text not null,
  merge_id text not null,
  prospect_id text not null,
  into_id text not null,
  api_key_id text,
  status text not null check (status in ('processing', 'completed')),
  requested_at text not null,
  completed_at text check ((completed_at is not null) = (status = 'completed')),
  pass integer not null,
  attempts integer not null,
  claimable_at text not null,
  primary key (tenant_id, merge_id),
  unique (tenant_id, prospect_id)
) strict, without rowid;
create index merges_into on merges (tenant_id, into_id) where status = 'processing';
create index merges_waiting on merges (tenant_id, claimable_at) where status = 'processing';
