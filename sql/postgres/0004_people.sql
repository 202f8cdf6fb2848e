-- People are also known by the id that another system has for them, exactly as sent: one prospect per external id, by its hash.
-- A prospect that was merged leads to its survivor, which was not merged itself.
alter table prospect_logs add column external_id text;
alter table erasures add column external_id_hash text collate "C", add column part_of text collate "C";
alter table prospects
  add column external_id text,
  add column external_id_hash text collate "C",
  add column merged_into text collate "C";

create unique index prospects_external_id on prospects (tenant_id, external_id_hash) where external_id_hash is not null;
create index prospects_merged on prospects (tenant_id, merged_into) where merged_into is not null;

-- The hashes of who is being erased. An erasure that is part of another one is not shown.
create unique index erasures_of_external_id on erasures (tenant_id, external_id_hash, coalesce(prospect_id, ''))
  where external_id_hash is not null;
create index erasures_by_prospect on erasures (tenant_id, prospect_id) where prospect_id is not null;
create index erasures_blocking on erasures (tenant_id, block_id) where completed_at is null and block_id is not null;
create index erasures_parts on erasures (tenant_id, part_of) where part_of is not null;

-- Prospects that were merged: in `processing` until their logs have moved to the survivor.
create table merges (
  tenant_id text collate "C" not null,
  merge_id text collate "C" not null,
  prospect_id text collate "C" not null,
  into_id text collate "C" not null,
  api_key_id text collate "C",
  status text not null check (status in ('processing', 'completed')),
  requested_at timestamptz(3) not null,
  completed_at timestamptz(3) check ((completed_at is not null) = (status = 'completed')),
  pass integer not null,
  attempts integer not null,
  claimable_at timestamptz(3) not null,
  primary key (tenant_id, merge_id),
  unique (tenant_id, prospect_id)
);
create index merges_into on merges (tenant_id, into_id) where status = 'processing';
create index merges_waiting on merges (tenant_id, claimable_at) where status = 'processing';
