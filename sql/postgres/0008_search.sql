-- People are found by how their email, their name or the last word of it begins: in lower case, without accents. Names in ASCII,
-- which are most, need no more than `lower`. `prospects.search` names the same expressions.
create index prospects_email_start on prospects (tenant_id, (left(email, 100) collate "C")) where email is not null;
create index prospects_name_start on prospects (tenant_id, (left(btrim(case when octet_length(name) = char_length(name)
    then lower(name) else lower(regexp_replace(normalize(name, NFKD), '[\u0300-\u036f]', '', 'g')) end), 100) collate "C"))
  where name is not null;
create index prospects_last_name_start on prospects (tenant_id, (left(split_part(btrim(case when octet_length(name) = char_length(name)
    then lower(name) else lower(regexp_replace(normalize(name, NFKD), '[\u0300-\u036f]', '', 'g')) end), ' ', -1), 100) collate "C"))
  where name like '% %';
